"""numpy-lab's own files: its pickled weights as a state dict, and MNIST's four files as arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mytorch.pickles import read_arrays
from mytorch.tensor import Tensor

# numpy-lab's names and torch's. Its running statistics were parameters beside gamma and beta.
_RENAMED = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_var": "running_var"}


def load_numpy_lab(path: str | os.PathLike) -> dict[str, Tensor]:
    """A numpy-lab pickle (layer → parameter → array) as a flat state dict; one that names code is refused.

    Linear weights, stored (in, out), are transposed; rows and columns that stand for vectors are flattened.
    """
    with open(path, "rb") as file:
        nested = read_arrays(file, str(path))
    state: dict[str, Tensor] = {}
    _flatten(nested, "", state, str(path))
    return state


def _flatten(node: Any, prefix: str, state: dict[str, Tensor], where: str) -> None:
    if isinstance(node, Mapping):
        for name, value in node.items():
            _flatten(value, f"{prefix}.{name}" if prefix else str(name), state, where)
        return
    if not prefix or not isinstance(node, np.ndarray | np.generic) or node.dtype.kind not in "fiub":
        place = prefix or "the top level"
        raise ValueError(f"{where} must hold layer → parameter → array, but {place} is {type(node).__name__}")
    layer, _, stored = prefix.rpartition(".")
    array, name = np.asarray(node), _RENAMED.get(stored, stored)
    if stored != "weight" and max(array.shape, default=1) == array.size:
        array = array.reshape(-1)  # (1, n) and (1, n, 1, 1) are vectors
    elif stored == "weight" and array.ndim == 2:
        array = array.T
    state[f"{layer}.{name}" if layer else name] = Tensor(np.ascontiguousarray(array))


def read_images(path: str | os.PathLike) -> np.ndarray:
    """An IDX file of images, gzipped or not, as uint8 (N, H, W)."""
    from mytorch.datasets import read_idx

    images = read_idx(path)
    if images.ndim != 3 or images.dtype != np.uint8:
        raise ValueError(f"{path} must hold images (n, h, w) of uint8, but holds {images.shape} of {images.dtype}")
    return images


def read_labels(path: str | os.PathLike) -> np.ndarray:
    """An IDX file of labels, gzipped or not, as uint8 (N,)."""
    from mytorch.datasets import read_idx

    labels = read_idx(path)
    if labels.ndim != 1 or labels.dtype != np.uint8:
        raise ValueError(f"{path} must hold labels (n,) of uint8, but holds {labels.shape} of {labels.dtype}")
    return labels


Pair = tuple[np.ndarray, np.ndarray]


def load_mnist(folder: str | os.PathLike) -> tuple[Pair, Pair]:
    """((images, labels), (test images, test labels)) of the four files in a folder, or in MNIST/raw below it."""
    places = (Path(folder), Path(folder, "MNIST", "raw"), Path(folder, "raw"))

    def find(name: str) -> Path:
        for place in places:
            for spelling in (name, name.replace("-idx", ".idx")):
                for path in (place / spelling, place / f"{spelling}.gz"):
                    if path.is_file():
                        return path
        raise FileNotFoundError(f"{folder} must hold MNIST's {name} (or {name}.gz), but does not: put it there")

    train, test = (
        (read_images(find(f"{part}-images-idx3-ubyte")), read_labels(find(f"{part}-labels-idx1-ubyte")))
        for part in ("train", "t10k")
    )
    return train, test
