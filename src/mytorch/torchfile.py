"""Reading torch.save's files without torch: the zip of today, and the stream of pickles from before version 1.6.

Both hold one pickle of the object, in which a tensor is a window on a storage (offset, sizes, steps), and the storages'
bytes beside it. Names of tensors and plain containers are admitted; others only with weights_only=False.
"""

from __future__ import annotations

import importlib
import io
import pickle
import struct
import zipfile
from collections import Counter
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from mytorch import dtypes
from mytorch.nn.parameter import Parameter
from mytorch.pickles import ARRAYS, ArrayUnpickler, RefusedPickle, byte_count
from mytorch.tensor import Tensor

BFLOAT16 = "bfloat16"  # stored as the upper half of a float32
_STORAGES = {
    ("torch", f"{d.legacy.removesuffix('Tensor')}Storage"): d.numpy.newbyteorder("<").str for d in dtypes.ALL
} | {("torch", "BFloat16Storage"): BFLOAT16}  # FloatStorage → float32


def bytes_of(kind: str) -> int:
    return 2 if kind == BFLOAT16 else np.dtype(kind).itemsize


def from_bytes(data: Any, kind: str) -> np.ndarray:
    """A copy of a storage's values, which can be written to."""
    if kind == BFLOAT16:
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(data, kind).astype(np.dtype(kind).newbyteorder("="))


def _rebuild_tensor(
    storage: np.ndarray, offset: int, size: tuple, stride: tuple, requires_grad: bool = False, *_: Any
) -> Tensor:
    """A tensor is a window of a flat storage: where it starts, its sizes and its steps. Its memory is the storage's."""
    if not isinstance(storage, np.ndarray) or storage.ndim != 1:
        raise RefusedPickle(f"a tensor is a window on a storage, but got {type(storage).__name__}")
    if len(size) != len(stride) or not all(isinstance(n, int) for n in (offset, *size, *stride)):
        raise RefusedPickle(f"a tensor has a step for every size, but got {size} and {stride}")
    if min((offset, *size, *stride)) < 0:
        raise RefusedPickle(f"a tensor's sizes and steps are not negative, but got {size} and {stride}")
    last = offset + sum((length - 1) * step for length, step in zip(size, stride))
    if 0 not in size and not 0 <= offset <= last < len(storage):
        raise RefusedPickle(f"a tensor must lie within its storage of {len(storage)}, but reaches {last}")
    steps = tuple(step * storage.itemsize for step in stride)
    return Tensor(
        np.lib.stride_tricks.as_strided(storage[offset:], tuple(size), steps), requires_grad=bool(requires_grad)
    )


def _rebuild_parameter(data: Tensor, requires_grad: bool, *_: Any) -> Parameter:
    return Parameter(data, bool(requires_grad))


_MOST = 1 << 25  # values: sparse tensors are kept dense here, and a few bytes of a file could fill any memory


def _layout(name: str) -> str:
    if name not in ("torch.strided", "torch.sparse_coo"):
        raise RefusedPickle(f"mytorch reads tensors of the layouts strided and sparse_coo, but got {name!r}")
    return name


class _SparseTensors:
    """Rebuilds the sparse tensors of one file from indices, values and size, as long as they fit into memory."""

    def __init__(self) -> None:
        self.left = _MOST

    def __call__(self, layout: str, data: tuple) -> Tensor:
        from mytorch.sparse import sparse_coo_tensor

        indices, values, size = data[:3]
        if layout != "torch.sparse_coo" or not isinstance(indices, Tensor) or not isinstance(values, Tensor):
            raise RefusedPickle(f"a sparse tensor is indices and values, but got {type(indices).__name__}")
        self.left -= byte_count(size, np.dtype(np.int8))
        if self.left < 0:
            raise RefusedPickle(f"the sparse tensors of a file may have {_MOST} places in all, zeros included")
        return sparse_coo_tensor(indices, values, size)


_NAMES: dict[tuple[str, str], Any] = {
    **ARRAYS,
    **_STORAGES,
    **{("torch", d.name): d for d in dtypes.BY_NAME.values()},
    ("torch", "Size"): dtypes.Size,
    ("torch", "device"): dtypes.device,
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch.serialization", "_get_layout"): _layout,
    ("torch.nn.parameter", "Parameter"): Parameter,
    ("collections", "Counter"): Counter,
    **{(module, kind.__name__): kind for module in ("__builtin__", "builtins") for kind in (set, complex)},
}


class _AnyUnpickler(ArrayUnpickler):
    """For weights_only=False: every name is imported, as pickle does; torch's are looked for in mytorch."""

    checked = False  # the file is trusted

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self.names:
            return self.names[module, name]
        if module.partition(".")[0] in ("torch", "torchvision"):
            from mytorch.compat import torch_module

            return getattr(torch_module(module), name)
        value: Any = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
        return value


def _unpickle(file: IO[bytes], storage: Any, weights_only: bool) -> Any:
    names = {**_NAMES, ("torch._utils", "_rebuild_sparse_tensor"): _SparseTensors()}
    return (ArrayUnpickler if weights_only else _AnyUnpickler)(file, names, storage).load()


def read_zip(archive: zipfile.ZipFile, where: str, weights_only: bool = True) -> Any:
    """What the archive's data.pkl holds, its storages taken from the entries beside it."""
    entries = {entry.filename: entry for entry in archive.infolist()}
    root = next(name for name in entries if name.endswith("/data.pkl")).removesuffix("/data.pkl")
    if f"{root}/byteorder" in entries and archive.read(f"{root}/byteorder") != b"little":
        raise ValueError(f"{where} must be written on a little-endian machine")
    storages: dict[str, np.ndarray] = {}

    def storage(reference: tuple) -> np.ndarray:
        _, kind, key, _, count = reference
        if not isinstance(kind, str) or not isinstance(count, int):
            raise RefusedPickle(f"a storage is a type and a length, but got {kind!r} and {count!r}")
        if key not in storages:
            entry = entries[f"{root}/data/{key}"]
            if not 0 <= count * bytes_of(kind) <= entry.file_size:
                raise RefusedPickle(f"storage {key} must hold {count} values, but has {entry.file_size} bytes")
            storages[key] = from_bytes(archive.read(entry)[: count * bytes_of(kind)], kind)
        return storages[key]

    return _unpickle(io.BytesIO(archive.read(f"{root}/data.pkl")), storage, weights_only)


# A file from before 1.6 begins with this number as a pickle of its own.
LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_START = pickle.dumps(LEGACY_MAGIC, 2)


def read_legacy(data: bytes, where: str, weights_only: bool = True) -> Any:
    """Pickles of the magic number, the version, the machine, the object and the storages' keys; then their bytes."""
    file = io.BytesIO(data)
    magic, version, machine = (ArrayUnpickler(file, {}).load() for _ in range(3))
    if magic != LEGACY_MAGIC or version != 1001:
        raise ValueError(f"{where} must have the magic number and version 1001, but has version {version}")
    if isinstance(machine, Mapping) and not machine.get("little_endian", True):
        raise ValueError(f"{where} must be written on a little-endian machine")
    kinds: dict[str, str] = {}
    storages: dict[str, np.ndarray] = {}
    claimed = 0

    def storage(reference: tuple) -> np.ndarray:
        """Created empty here, and filled when its bytes are read, which follow the object."""
        nonlocal claimed
        _, kind, key, _, count, view = reference
        if not isinstance(kind, str) or not isinstance(count, int) or count < 0:
            raise RefusedPickle(f"a storage is a type and a length, but got {kind!r} and {count!r}")
        if key not in storages:
            claimed += count * bytes_of(kind)
            if claimed > len(data):
                raise RefusedPickle(f"the file has {len(data)} bytes, but its storages claim {claimed}")
            kinds[key], storages[key] = kind, from_bytes(bytes(count * bytes_of(kind)), kind)
        if view is None:
            return storages[key]
        _, start, length = view
        return storages[key][start : start + length]

    value = _unpickle(file, storage, weights_only)
    for key in ArrayUnpickler(file, {}).load():
        (count,) = struct.unpack("<q", file.read(8))
        if key not in storages or count != len(storages[key]):
            raise ValueError(f"{where} must hold the storages it names, but storage {key!r} is another")
        storages[key][:] = from_bytes(file.read(count * bytes_of(kinds[key])), kinds[key])
    return value
