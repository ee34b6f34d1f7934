"""To another dtype or to the one device there is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import BY_NAME, device, dtype, require_cpu, to_numpy
from ..naming import attach, named
from ..tensor import Tensor
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


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype the two (tensors or numbers) have in common."""
    if not isinstance(tensor1, Tensor) and not isinstance(tensor2, Tensor):
        lowest = Tensor(np.zeros((), np.bool_))  # numbers alone are as if mixed into booleans
        tensor1, tensor2 = (promoted(lowest, number)[0] for number in (tensor1, tensor2))
    return promoted(tensor1, tensor2)[0].dtype


FUNCTIONS = named(result_type)
attach(
    to, type_as, float=_to("float32"), double=_to("float64"), half=_to("float16"), long=_to("int64"),
    int=_to("int32"), short=_to("int16"), char=_to("int8"), byte=_to("uint8"), bool=_to("bool"),
)  # fmt: skip
