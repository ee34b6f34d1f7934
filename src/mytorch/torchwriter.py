"""Writing torch.save's zip format without torch: a pickle that names torch's constructors, and the storages' bytes."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from typing import IO, Any

import numpy as np

from mytorch import dtypes
from mytorch.nn.parameter import Parameter
from mytorch.tensor import Tensor


class _Name:
    """A name in torch, written into the pickle as it stands: torch itself is not imported."""

    def __init__(self, module: str, name: str):
        self.text = f"c{module}\n{name}\n".encode()

    def __call__(self, *args: Any) -> Any:  # pickle asks that a constructor be callable
        raise TypeError("a name that is only written down")


_REBUILD_TENSOR = _Name("torch._utils", "_rebuild_tensor_v2")
_REBUILD_PARAMETER = _Name("torch._utils", "_rebuild_parameter")
_SIZE, _DEVICE = _Name("torch", "Size"), _Name("torch", "device")
_DTYPES = {d: _Name("torch", d.name) for d in (*dtypes.ALL, dtypes.bfloat16)}
_STORAGES = {d.numpy: _Name("torch", f"{d.legacy.removesuffix('Tensor')}Storage") for d in dtypes.ALL}


class _Storage:
    """The flat memory behind one or more tensors, and its number in the file."""

    def __init__(self, key: int, memory: np.ndarray):
        self.key, self.memory = str(key), memory


# The pickler in Python: the one in C imports every name it writes.
_Base: Any = pickle._Pickler  # type: ignore[attr-defined]


class _Pickler(_Base):
    def __init__(self, file: IO[bytes]):
        super().__init__(file, protocol=2)
        self.storages: dict[int, tuple[np.ndarray, _Storage]] = {}  # id of an array → (the array, its storage)

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        if isinstance(obj, dtypes.dtype):
            obj = _DTYPES[obj]
        if not isinstance(obj, _Name):
            return super().save(obj, save_persistent_id)
        if id(obj) in self.memo:
            self.write(self.get(self.memo[id(obj)][0]))
        else:
            self.write(obj.text)
            self.memoize(obj)
        return None

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, _Storage):
            return None
        return ("storage", _STORAGES[obj.memory.dtype], obj.key, "cpu", obj.memory.size)

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Parameter):
            return _REBUILD_PARAMETER, (Tensor(obj._array), obj.requires_grad, OrderedDict())
        if isinstance(obj, Tensor):
            storage = self._storage(obj._array)
            steps = tuple(step // obj._array.itemsize for step in storage[1].strides)
            start = (storage[1].ctypes.data - storage[0].memory.ctypes.data) // obj._array.itemsize
            shape = tuple(storage[1].shape)
            return _REBUILD_TENSOR, (storage[0], start, shape, steps, obj.requires_grad, OrderedDict())
        if isinstance(obj, dtypes.Size):
            return _SIZE, (tuple(obj),)
        if isinstance(obj, dtypes.device):
            return _DEVICE, (str(obj),)
        return NotImplemented

    def _storage(self, array: np.ndarray) -> tuple[_Storage, np.ndarray]:
        """The storage and the array as a window on it. A tensor that is part of a larger array is copied out of it."""
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        steps = [step // array.itemsize for step in array.strides]
        if owner.size > array.size or owner.dtype != array.dtype or not _dense(owner) or min(steps, default=0) < 0:
            owner = array = np.array(array, order="C")
        if id(owner) not in self.storages:
            memory = owner.reshape(-1) if owner.flags.c_contiguous else owner.T.reshape(-1)
            self.storages[id(owner)] = owner, _Storage(len(self.storages), memory)
        return self.storages[id(owner)][1], array


def _dense(array: np.ndarray) -> bool:
    return array.flags.c_contiguous or array.flags.f_contiguous


def write_zip(value: Any, file: IO[bytes], root: str = "archive") -> None:
    text = io.BytesIO()
    pickler = _Pickler(text)
    pickler.dump(value)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _entry(archive, f"{root}/data.pkl", text.getvalue())
        _entry(archive, f"{root}/byteorder", b"little")
        for _, storage in pickler.storages.values():
            _entry(archive, f"{root}/data/{storage.key}", storage.memory.tobytes())
        _entry(archive, f"{root}/version", b"3\n")


def _entry(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Every entry's data starts at a multiple of 64, so that torch can map it into memory; an extra field pads it."""
    info = zipfile.ZipInfo(name)
    here: Any = archive.fp
    start = here.tell() + 30 + len(name) + 4  # after the entry's header, its name and the field's own header
    room = -start % 64
    info.extra = b"FB" + room.to_bytes(2, "little") + b"Z" * room
    archive.writestr(info, data)
