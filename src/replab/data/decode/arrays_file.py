"""An .npz file of arrays → Dataset. Nothing in it is unpickled, and its sizes are checked before they are believed."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from replab.data.decode.reading import Reading
from replab.data.images import Dataset
from replab.errors import DataError

# names of (images, labels) as people save them: training, then test
NAMES = (
    (("x", "y"), ("x_test", "y_test")),
    (("x_train", "y_train"), ("x_test", "y_test")),
    (("train_images", "train_labels"), ("test_images", "test_labels")),
    (("images", "labels"), ("test_images", "test_labels")),
)


def load(path: Path, how: Reading, *, seed: int) -> Dataset:
    from dataclasses import replace

    from replab.data.objects import dataset_of

    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {member.filename.removesuffix(".npy"): member.file_size for member in archive.infolist()}
        with np.load(path, allow_pickle=False) as file:
            arrays = [_read(path, file, name, sizes) for name in _wanted(path, set(sizes))]
    except (zipfile.BadZipFile, OSError, ValueError, EOFError, KeyError, NotImplementedError) as error:
        raise DataError(f"{path} is not a whole .npz file of arrays ({' '.join(str(error).split())[:120]})") from None
    return replace(dataset_of(tuple(arrays), how, seed=seed), name=path.stem)


def _wanted(path: Path, present: set[str]) -> list[str]:
    for train, test in NAMES:
        if set(train) <= present:
            return [*train, *(test if set(test) <= present else ())]
    known = " or ".join(f"{images}, {labels}" for (images, labels), _ in NAMES)
    raise DataError(f"{path} must have arrays named {known}, got {', '.join(sorted(present)[:8]) or 'none'}")


def _read(path: Path, file: Any, name: str, sizes: dict[str, int]) -> np.ndarray:
    """The array, if its header asks for no more than the file has."""
    with file.zip.open(f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(member)
    needed = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if dtype.hasobject or needed > sizes[name]:
        raise DataError(f"{path}: {name} says it has {needed:,} bytes of {dtype}, and the file has {sizes[name]:,}")
    return np.asarray(file[name])
