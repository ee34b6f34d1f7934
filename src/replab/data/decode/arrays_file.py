"""An .npz file of arrays → Dataset. Nothing in it is unpickled, and its sizes are checked before they are believed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from replab.data.decode.reading import Reading
from replab.data.images import Dataset
from replab.errors import DataError
from replab.records.record import check_sizes

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
        check_sizes(path)
        with zipfile.ZipFile(path) as archive:
            names = {name.removesuffix(".npy") for name in archive.namelist()}
        with np.load(path, allow_pickle=False) as file:
            arrays = [np.asarray(file[name]) for name in _wanted(path, names)]
    except DataError:
        raise
    except Exception as error:  # zip, zlib, LZMA and NumPy each have their own
        raise DataError(f"{path} is not a whole .npz file of arrays ({' '.join(str(error).split())[:120]})") from None
    return replace(dataset_of(tuple(arrays), how, seed=seed), name=path.stem)


def _wanted(path: Path, present: set[str]) -> list[str]:
    for train, test in NAMES:
        if set(train) <= present:
            return [*train, *(test if set(test) <= present else ())]
    known = " or ".join(f"{images}, {labels}" for (images, labels), _ in NAMES)
    raise DataError(f"{path} must have arrays named {known}, got {', '.join(sorted(present)[:8]) or 'none'}")
