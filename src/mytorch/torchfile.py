"""Reading the zip files of torch.save without torch: tensors and plain containers, nothing that is code."""

from __future__ import annotations

import io
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np

from mytorch.dtypes import ALL
from mytorch.nn.parameter import Parameter
from mytorch.pickles import ARRAYS, ArrayUnpickler, RefusedPickle
from mytorch.tensor import Tensor

_STORAGES = {
    ("torch", f"{dtype.legacy.removesuffix('Tensor')}Storage"): dtype.numpy.str for dtype in ALL
}  # FloatStorage → float32


def _rebuild_tensor(
    storage: np.ndarray, offset: int, size: tuple, stride: tuple, requires_grad: bool = False, *_: Any
) -> Tensor:
    """A tensor is a window of a flat storage: where it starts, its sizes and its steps."""
    if min((offset, *size, *stride)) < 0:
        raise RefusedPickle(f"a tensor's sizes and steps are not negative, but got {size} and {stride}")
    last = offset + sum((length - 1) * step for length, step in zip(size, stride))
    if 0 not in size and not 0 <= offset <= last < len(storage):
        raise RefusedPickle(f"a tensor must lie within its storage of {len(storage)}, but reaches {last}")
    steps = tuple(step * storage.itemsize for step in stride)
    window = np.lib.stride_tricks.as_strided(storage[offset:], tuple(size), steps)
    return Tensor(np.array(window), requires_grad=requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, *_: Any) -> Parameter:
    return Parameter(data, requires_grad)


_NAMES = {
    **ARRAYS,
    **_STORAGES,
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch", "Size"): tuple,
}


def read(archive: zipfile.ZipFile, where: str) -> Any:
    """What the archive's data.pkl holds, its storages taken from the entries beside it."""
    root = next(name for name in archive.namelist() if name.endswith("/data.pkl")).removesuffix("/data.pkl")
    if f"{root}/byteorder" in archive.namelist() and archive.read(f"{root}/byteorder") != b"little":
        raise ValueError(f"{where} must be written on a little-endian machine")
    storages: dict[str, np.ndarray] = {}

    def storage(reference: tuple) -> np.ndarray:
        _, kind, key, _, count = reference
        if key not in storages:
            storages[key] = np.frombuffer(archive.read(f"{root}/data/{key}"), kind)[:count]
        return storages[key]

    try:
        return ArrayUnpickler(io.BytesIO(archive.read(f"{root}/data.pkl")), _NAMES, storage).load()
    except RefusedPickle as refused:
        raise RefusedPickle(f"{where}: {refused}; save a state_dict() instead") from None
