"""Data by name or path → Dataset: a registered source; a folder or zip; an .npz or .csv file; CIFAR's archives; hf:."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

from replab.data.decode.reading import Reading
from replab.data.images import Dataset, Images
from replab.data.source import HUB, check, source
from replab.errors import DataError


def load(
    name_or_path: str,
    *,
    size: int | None = None,
    seed: int = 3407,
    limit: int | None = None,
    classes: Sequence[str] = (),
    per_class: int | None = None,
    fit: str = "crop",
    skip_broken: bool = False,
) -> Dataset:
    """Images of a source, or of a folder or zip of them (`digits` is the source, `./digits` a folder).

    `size` is the side of the square they become, `fit` how: crop the centre, pad with black or squish; `skip_broken`
    leaves out files that cannot be read. `seed` draws the test images where the data has
    no split of its own, and the `limit` images kept of each half (stratified, at least one per class).
    `classes` keeps some classes alone, `per_class` so many training images of each; test images stay all.
    """
    if size is not None and size < 1:
        raise DataError(f"size must be at least 1 pixel, got {size}; leave it out to keep the images' own")
    if limit is not None and limit < 1:
        raise DataError(f"limit must be at least 1 image, got {limit}; leave it out to use all")
    text = str(name_or_path)
    chosen = partial(pick, seed=seed, limit=limit, classes=classes, per_class=per_class)
    if text in source.names():
        known = source.get(text)
        if size is not None and getattr(known, "picks", False) and (limit or classes or per_class):
            found: Dataset = known(size=size, seed=seed, pick=chosen)
            return found
        data = known(size=size, seed=seed)
    else:
        data = _from_path(text, Reading(size, fit, skip_broken), seed)
    return chosen(data)


def pick(
    data: Dataset,
    *,
    seed: int,
    limit: int | None = None,
    classes: Sequence[str] = (),
    per_class: int | None = None,
) -> Dataset:
    """Some of the images, as `load` says."""
    if classes:
        both = (data.train.of_classes(classes), data.test.of_classes(classes))
        data = _other(data, *both, f"classes {both[0].classes}")
    if per_class is not None:
        data = _other(data, data.train.few(per_class, seed), data.test, f"{per_class} a class, seed {seed}")
    if limit is None or limit >= max(len(data.train), len(data.test)):
        return data
    return _other(data, data.train.take(limit, seed), data.test.take(limit, seed), f"limit {limit} seed {seed}")


def stand_in(name: str, *, size: int | None = None, classes: Sequence[str] = ()) -> Dataset | None:
    """A few random images of a source's shape, to look at a model without reading or downloading the real ones.

    None where only the images themselves can tell: a folder, a zip, a source that does not declare its shape.
    """
    shape = getattr(source.get(name), "shape", None) if name in source.names() else None
    if shape is None:
        return None
    if size is not None:
        shape = (shape[0], size, size)
    names = tuple(classes) or tuple(map(str, range(source.get(name).classes)))
    pixels = np.random.default_rng(0).integers(0, 256, (2 * len(names), *shape), dtype=np.uint8)
    labels = np.arange(len(pixels)) % len(names)
    images = Images(pixels, labels, names, (0.5,) * shape[0], (0.25,) * shape[0])
    return Dataset(name, images, images, "stand-in")


def _other(data: Dataset, train: Images, test: Images, how: str) -> Dataset:
    """Other images, so another fingerprint."""
    fingerprint = sha256(f"{data.fingerprint} {how}".encode()).hexdigest()
    return replace(data, train=train, test=test, fingerprint=fingerprint)


def _from_path(text: str, how: Reading, seed: int) -> Dataset:
    from replab.data.decode import folder
    from replab.data.sources import cifar10

    check(text)
    if text.startswith(HUB):
        from replab.data.decode import hub

        return hub.load(text.removeprefix(HUB), how, seed=seed)
    path = Path(text).expanduser()
    if path.suffix.lower() == ".npz" and path.is_file():
        from replab.data.decode import arrays_file

        return arrays_file.load(path, how, seed=seed)
    if path.suffix.lower() == ".csv" and path.is_file():
        from replab.data.decode import table

        return table.load_csv(path, how, seed=seed)
    if cifar10.is_at(path):
        return cifar10.read_at(path, how.size)
    return folder.load(path, how, seed=seed)
