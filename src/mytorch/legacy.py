"""torch.Tensor and torch.FloatTensor as constructors, from the time before torch.tensor.

Inside mytorch, tensor.Tensor(array) wraps an array as it is. What a script calls torch.Tensor copies it to the
default dtype, and torch.LongTensor(...) to int64. These names are types as well: isinstance(x, torch.FloatTensor).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .creation import _values
from .dtypes import BY_NAME, default
from .tensor import Tensor as Raw


def _converted(data: tuple, kind: np.dtype) -> np.ndarray:
    first = data[0] if data else ()
    if isinstance(first, Raw):
        return first._array if first._array.dtype == kind else first._array.astype(kind)
    if isinstance(first, (np.ndarray, list, tuple)) and not isinstance(first, dtypes.Size):
        return np.array(_values(first, kind))
    return Raw(*data)._array.astype(kind, copy=False)  # sizes, or nothing


class _PublicType(type):
    """torch.Tensor(data) creates a plain tensor; every tensor is an instance of torch.Tensor."""

    def __call__(cls, *data: Any, **kwargs: Any) -> Any:
        if cls is not Tensor:  # a subclass of the user's
            return super().__call__(*data, **kwargs)
        if "data" in kwargs:
            data = (kwargs.pop("data"),)
        dtypes.require_cpu(kwargs.pop("device", None))
        return Raw(_converted(data, default()), **kwargs)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Raw) if cls is Tensor else super().__instancecheck__(value)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, Raw) if cls is Tensor else super().__subclasscheck__(other)

    def __eq__(cls, other: object) -> bool:
        return other is cls or (cls is Tensor and other is Raw)  # type(x) == torch.Tensor

    def __hash__(cls) -> int:
        return hash(Raw) if cls is Tensor else type.__hash__(cls)

    def __setattr__(cls, name: str, value: Any) -> None:
        """A method that a script adds to torch.Tensor becomes a method of every tensor."""
        type.__setattr__(Raw if cls is Tensor else cls, name, value)


class Tensor(Raw, metaclass=_PublicType):
    __slots__ = ()


class _LegacyType(type):
    """torch.FloatTensor and the like: one dtype each."""

    dtype: dtypes.dtype
    cuda = False

    def __call__(cls, *data: Any, **kwargs: Any) -> Any:
        if cls.cuda:
            dtypes.require_cpu("cuda")
        return Raw(_converted(data, cls.dtype.numpy), **kwargs)

    def __instancecheck__(cls, value: Any) -> bool:
        return not cls.cuda and isinstance(value, Raw) and value._array.dtype == cls.dtype.numpy

    def __repr__(cls) -> str:
        return f"<class 'torch.{'cuda.' if cls.cuda else ''}{cls.__name__}'>"


def _typed(name: str, cuda: bool = False) -> Any:
    made = _LegacyType(name, (), {})
    made.dtype, made.cuda = BY_NAME[name], cuda
    return made


FloatTensor, DoubleTensor, HalfTensor = _typed("FloatTensor"), _typed("DoubleTensor"), _typed("HalfTensor")
LongTensor, IntTensor, ShortTensor = _typed("LongTensor"), _typed("IntTensor"), _typed("ShortTensor")
ByteTensor, CharTensor, BoolTensor = _typed("ByteTensor"), _typed("CharTensor"), _typed("BoolTensor")

_CUDA: dict[str, Any] = {}


def cuda_type(name: str) -> Any:
    """torch.cuda.FloatTensor: it can be named and compared; making one raises torch's error."""
    if name not in BY_NAME:
        raise dtypes.unsupported(f"torch.cuda.{name}")
    return _CUDA.setdefault(name, _typed(name, cuda=True))


def dtype_of(kind: Any) -> Any:
    """The dtype that x.type(kind) means: a dtype, a legacy type or its name as text."""
    if isinstance(kind, str):
        kind = cuda_type(kind.rpartition(".")[2]) if ".cuda." in kind else BY_NAME[kind.rpartition(".")[2]]
    if isinstance(kind, _LegacyType):
        if kind.cuda:
            dtypes.require_cpu("cuda")
        return kind.dtype
    return dtypes.get_default_dtype() if kind is Tensor else kind


def set_default_tensor_type(t: Any) -> None:
    dtypes.set_default_dtype(dtype_of(t))
