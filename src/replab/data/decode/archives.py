"""MNIST, FashionMNIST, CIFAR and SVHN as torchvision keeps them: used if there, else downloaded.

They are looked for in $REPLAB_DATA, or the user's cache folder. The published archives are read as they are;
downloads.py gets those that are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from replab import files
from replab.data import downloads
from replab.data.decode import cache
from replab.data.decode.decoded import Allocate, Decoded, dataset
from replab.data.decode.published_files import (
    Broken,
    read_cifar,
    read_cifar_binary,
    read_cifar_names,
    read_idx_pair,
    read_members,
)
from replab.data.images import Dataset
from replab.errors import DataError

Pick = Callable[[Dataset], Dataset]  # some of the images
Constants = tuple[tuple[float, ...], tuple[float, ...]]

# (training images, labels, test images, labels, class names)
Halves = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]


class Form(NamedTuple):
    """One form a set may have on disk: its files, relative to the data folder, and their reader."""

    files: tuple[str, ...]
    read: Callable[[list[Path]], Halves]


def idx_forms(folder: str, classes: tuple[str, ...]) -> list[Form]:
    def read(paths: list[Path]) -> Halves:
        return (*read_idx_pair(*paths[:2]), *read_idx_pair(*paths[2:]), classes)

    halves = ("train", "t10k")
    plain = [f"{folder}/raw/{h}-{what}-ubyte" for h in halves for what in ("images-idx3", "labels-idx1")]
    return [Form(tuple(plain), read), Form(tuple(f"{name}.gz" for name in plain), read)]


def cifar_forms(folder: str, archive: str, train: list[str], test: str, meta: str, key: str) -> list[Form]:
    names = [f"{folder}/{name}" for name in (*train, test, meta)]

    def halves(where: list[Path], data: list[bytes]) -> Halves:
        *batches, last = [read_cifar(p, d, f"{key}s") for p, d in zip(where[:-1], data[:-1])]
        classes = read_cifar_names(where[-1], data[-1], f"{key}_names")
        return (*(np.concatenate(parts) for parts in zip(*batches)), *last, classes)  # type: ignore[return-value]

    def read_unpacked(paths: list[Path]) -> Halves:
        return halves(paths, [path.read_bytes() for path in paths])

    def read_archive(paths: list[Path]) -> Halves:
        return halves(paths * len(names), list(read_members(paths[0], names).values()))

    return [Form(tuple(names), read_unpacked), Form((archive,), read_archive)]


def cifar_binary_forms(folder: str, archive: str, train: list[str], test: str) -> list[Form]:
    """The version for C: a byte of label and 3,072 of pixels per image; the names of classes are lines of text."""
    names = [f"{folder}/{name}" for name in (*train, test, "batches.meta.txt")]

    def halves(where: list[Path], data: list[bytes]) -> Halves:
        *batches, last = [read_cifar_binary(p, d) for p, d in zip(where[:-1], data[:-1])]
        classes = tuple(data[-1].decode("ascii", "replace").split())
        return (*(np.concatenate(parts) for parts in zip(*batches)), *last, classes)  # type: ignore[return-value]

    def read_unpacked(paths: list[Path]) -> Halves:
        return halves(paths, [path.read_bytes() for path in paths])

    def read_archive(paths: list[Path]) -> Halves:
        return halves(paths * len(names), list(read_members(paths[0], names).values()))

    return [Form(tuple(names), read_unpacked), Form((archive,), read_archive)]


def load(
    name: str,
    forms: list[Form],
    torchvision_name: str,
    size: int | None,
    constants: Constants | None,
    given: Path | None = None,
    pick: Pick | None = None,
) -> Dataset:
    """From the first form that is present and intact; the last form is the one that is downloaded.

    `given`: the folder a user named, where nothing is downloaded to. `pick`: chooses some of the images, which alone
    are resized then; it needs constants, as those of all images are not computed.
    """
    root = given or files.data_root()
    problem: object = "a file of it is missing" if given else None
    for form in [*forms, *([] if given else [None])]:
        if form is None:
            form = forms[-1]
            downloads.download(name, form.files, torchvision_name, root, problem)
        paths = [root / file for file in form.files]
        if not all(path.is_file() for path in paths):
            continue
        try:
            key = cache.content(((path.name, path) for path in paths), f"{name} size {size}")
            if pick is not None and size is not None:
                own = cache.content(((path.name, path) for path in paths), f"{name} size None")
                found = cache.decoded(own, lambda allocate: _decode(form, paths, None, allocate, torchvision_name))  # noqa: B023
                return resized_images(pick(dataset(name, found, key, 0, constants)), size)
            found = cache.decoded(key, lambda allocate: _decode(form, paths, size, allocate, torchvision_name))  # noqa: B023
            return dataset(name, found, key, 0, constants)
        except (Broken, OSError) as error:
            problem = error
    way = "copy it again" if given else "remove it there, or use --data digits"
    raise DataError(f"{name}: {problem} in {root}; {way}")


def resized_images(data: Dataset, size: int) -> Dataset:
    from replab.data.decode.pictures import resized

    train, test = (replace(half, pixels=resized(half.pixels, size)) for half in (data.train, data.test))
    return replace(data, train=train, test=test)


def _decode(form: Form, paths: list[Path], size: int | None, allocate: Allocate, published: str) -> Decoded:
    from replab.data.decode.pictures import resized

    train, train_labels, test, test_labels, classes = form.read(paths)
    n = len(train)
    shape = train.shape[1:] if size is None else (train.shape[1], size, size)
    if test.shape[1:] != train.shape[1:]:
        raise Broken(paths[-1], f"test images of {test.shape[1:]}, training images of {train.shape[1:]}")
    labels = np.concatenate([train_labels, test_labels])
    if not n or not len(test) or labels.min() < 0 or labels.max() >= len(classes):
        raise Broken(paths[0], f"{n} + {len(test)} images, labels up to {labels.max(initial=0)}")
    pixels = allocate((n + len(test), *shape))
    for half, target in ((train, pixels[:n]), (test, pixels[n:])):
        if size is None:
            target[:] = half
        else:
            resized(half, size, out=target)
    others = downloads.differing(published, paths)
    notices = [f"note: {file} is not the published file (SHA-256); its images are used as they are" for file in others]
    return Decoded.of(pixels, labels, classes, n)._replace(notices=tuple(notices))
