"""Torch's dtypes, devices and sizes as small values over NumPy's, and torch's rule for mixing dtypes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


class Unsupported(NotImplementedError, AttributeError):
    """A name that torch has and mytorch does not have; also an AttributeError, so that hasattr() answers False."""


def unsupported(name: str) -> Unsupported:
    return Unsupported(f"mytorch has no '{name}'; supported: docs/mytorch.md")


class dtype:
    """One element type: torch's name and NumPy's type."""

    __slots__ = ("is_complex", "is_floating_point", "itemsize", "legacy", "name", "numpy")

    def __init__(self, name: str, numpy_type: Any, legacy: str):
        self.name = name
        self.numpy = np.dtype(numpy_type)
        self.legacy = legacy  # 'FloatTensor', the name in old-style type strings and error messages
        self.itemsize = self.numpy.itemsize
        self.is_floating_point = self.numpy.kind == "f"
        self.is_complex = self.numpy.kind == "c"

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple:
        return dtype_named, (self.name,)

    def __deepcopy__(self, memo: dict) -> dtype:
        return self


float16 = half = dtype("float16", np.float16, "HalfTensor")
float32 = dtype("float32", np.float32, "FloatTensor")
float64 = double = dtype("float64", np.float64, "DoubleTensor")
complex64 = cfloat = dtype("complex64", np.complex64, "ComplexFloatTensor")
complex128 = cdouble = dtype("complex128", np.complex128, "ComplexDoubleTensor")
uint8 = dtype("uint8", np.uint8, "ByteTensor")
int8 = dtype("int8", np.int8, "CharTensor")
int16 = short = dtype("int16", np.int16, "ShortTensor")
int32 = dtype("int32", np.int32, "IntTensor")
int64 = long = dtype("int64", np.int64, "LongTensor")
bool_ = dtype("bool", np.bool_, "BoolTensor")

# NumPy has no such type: its values are kept in float32, which holds every one of them. A tensor's dtype says so.
bfloat16 = dtype("bfloat16", np.float32, "BFloat16Tensor")

ALL = (float16, float32, float64, complex64, complex128, uint8, int8, int16, int32, int64, bool_)
OF_NUMPY = {d.numpy: d for d in ALL}
BY_NAME = {d.name: d for d in (*ALL, bfloat16)} | {d.legacy: d for d in (*ALL, bfloat16)}
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)
CATEGORY = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
COMPLEX64, COMPLEX128 = np.dtype(np.complex64), np.dtype(np.complex128)

_default = FLOAT32


def dtype_named(name: str) -> dtype:
    return BY_NAME[name]


def default() -> np.dtype:
    """NumPy's type for new floating-point tensors."""
    return _default


def get_default_dtype() -> dtype:
    return OF_NUMPY[_default]


def set_default_dtype(d: dtype) -> None:
    global _default
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, but got {d!r}")
    _default = d.numpy


def to_numpy(d: Any) -> np.dtype:
    """NumPy's type of a mytorch dtype, or of anything NumPy understands (Python's float, int, bool as torch)."""
    if d.__class__ is dtype:
        if d is bfloat16:
            warnings.warn("mytorch has no bfloat16: float32 is used in its place", stacklevel=3)
        return d.numpy
    if d is float:
        return FLOAT64
    return np.dtype(d)


def of_array(array: np.ndarray) -> dtype:
    try:
        return OF_NUMPY[array.dtype]
    except KeyError:
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{array.dtype}: the supported types are "
            f"{', '.join(d.name for d in ALL)}"
        ) from None


def common(a: np.ndarray, b: np.ndarray) -> np.dtype:
    """Torch's promotion: the higher category wins; within one, tensors with dimensions outrank 0-d ones."""
    ka, kb = CATEGORY[a.dtype.kind], CATEGORY[b.dtype.kind]
    if ka != kb:
        higher, lower = (a.dtype, b.dtype) if ka > kb else (b.dtype, a.dtype)
        # a complex number with a float64 tensor keeps its digits
        wide = higher.kind == "c" and lower == FLOAT64 and (a if ka < kb else b).ndim
        return np.promote_types(higher, lower) if wide else higher
    if (a.ndim == 0) != (b.ndim == 0):
        return b.dtype if a.ndim == 0 else a.dtype
    return np.promote_types(a.dtype, b.dtype)


def common_scalar(a: np.ndarray, value: Any) -> np.dtype:
    """The type of an array mixed with a Python number: the number only raises the category."""
    if isinstance(value, (complex, np.complexfloating)):
        return (
            a.dtype
            if a.dtype.kind == "c"
            else np.promote_types(a.dtype if a.dtype.kind == "f" else _default, COMPLEX64)
        )
    if isinstance(value, (bool, np.bool_)) or a.dtype.kind in "fc":
        return a.dtype
    if isinstance(value, (int, np.integer)):
        return INT64 if a.dtype.kind == "b" else a.dtype
    return _default


class Size(tuple):
    """A tensor's shape: a tuple that prints as torch.Size."""

    __slots__ = ()

    def numel(self) -> int:
        total = 1
        for n in self:
            total *= n
        return total

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def __getitem__(self, key: Any) -> Any:
        got = tuple.__getitem__(self, key)
        return Size(got) if isinstance(key, slice) else got

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))


class device:
    """Where a tensor lives: here always the CPU. 'cuda' and 'mps' can be named, but hold no tensor."""

    __slots__ = ("index", "type")

    def __init__(self, type: Any = "cpu", index: int | None = None):
        name, _, number = str(type).partition(":")  # a device's own text has its index
        if name not in ("cpu", "cuda", "mps", "xpu", "meta"):
            raise RuntimeError(
                f"Expected one of cpu, cuda, mps, xpu, meta device type at start of device string: {name}"
            )
        self.type = name
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


CPU = device("cpu")


def require_cpu(where: Any) -> None:
    """Torch's errors for a device that is not here."""
    if where is None or where is CPU:
        return
    d = device(where)
    if d.type == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled: mytorch runs on the CPU, use device 'cpu'")
    if d.type != "cpu":
        raise RuntimeError(f"mytorch runs on the CPU only, but got device '{d}': use device 'cpu'")


class finfo:
    """The limits of a floating-point dtype."""

    def __init__(self, d: dtype | None = None):
        info: Any = np.finfo(to_numpy(d) if d is not None else _default)
        self.bits = info.bits
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(info.resolution)
        self.dtype = np.dtype(info.dtype).name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """The limits of an integer dtype."""

    def __init__(self, d: dtype):
        info = np.iinfo(to_numpy(d))
        self.bits, self.max, self.min, self.dtype = info.bits, int(info.max), int(info.min), info.dtype.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
