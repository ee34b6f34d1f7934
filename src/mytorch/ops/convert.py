"""To another dtype or to the one device there is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import BY_NAME, OF_NUMPY, device, dtype, require_cpu, to_numpy
from ..tensor import Tensor, attach, named
from .broadcast import cast, promoted
from .shape import clone


def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """to(dtype), to(device), to(device, dtype), to(other tensor); the tensor itself when nothing changes."""
    kind = kwargs.get("dtype")
    require_cpu(kwargs.get("device"))
    copy = kwargs.get("copy", False)
    for a in args:
        if isinstance(a, Tensor):
            kind = a._array.dtype
        elif isinstance(a, dtype) or a in (float, int, bool):
            kind = a if not isinstance(a, bool) else kind  # a plain bool is non_blocking
        elif isinstance(a, (str, device)):
            require_cpu(a)
        elif a is not None and not isinstance(a, (bool, int)):
            raise TypeError(f"to() takes a dtype, a device or a tensor, but got {type(a).__name__}")
    out = input if kind is None else cast(input, to_numpy(kind))
    return clone(out) if copy and out is input else out


def _to(name: str) -> Any:
    kind = BY_NAME[name].numpy

    def method(input: Tensor, *_: Any, **__: Any) -> Tensor:
        return cast(input, kind)

    return method


def type_as(input: Tensor, other: Tensor) -> Tensor:
    return cast(input, other._array.dtype)


def result_type(a: Any, b: Any) -> dtype:
    one = Tensor(np.empty(0)) if not isinstance(a, Tensor) and not isinstance(b, Tensor) else None
    if one is not None:
        return OF_NUMPY[np.result_type(a, b)]
    return promoted(a, b)[0].dtype


FUNCTIONS = named(result_type)
attach(
    to, type_as, float=_to("float32"), double=_to("float64"), half=_to("float16"), long=_to("int64"),
    int=_to("int32"), short=_to("int16"), char=_to("int8"), byte=_to("uint8"), bool=_to("bool"),
)  # fmt: skip
