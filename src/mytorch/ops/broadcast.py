"""Operands of different shapes and dtypes: what they are cast to, and how their gradients are summed back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record
from ..dtypes import common, common_scalar, default
from ..tensor import Tensor

quiet = np.errstate  # torch gives inf and nan without a warning


def unbroadcast(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum a gradient (an array or a tensor) over the axes along which an operand of `shape` was repeated."""
    if g.shape == shape:
        return g
    extra = g.ndim - len(shape)
    if extra:
        g = g.sum(axis=tuple(range(extra)))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.sum(axis=axes, keepdims=True) if axes else g


def mismatch(a: tuple[int, ...], b: tuple[int, ...]) -> RuntimeError:
    """Torch's message for shapes that do not broadcast."""
    n = max(len(a), len(b))
    wide_a, wide_b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    for i in reversed(range(n)):
        if wide_a[i] != wide_b[i] and 1 not in (wide_a[i], wide_b[i]):
            return RuntimeError(
                f"The size of tensor a ({wide_a[i]}) must match the size of tensor b ({wide_b[i]}) "
                f"at non-singleton dimension {i}"
            )
    return RuntimeError(f"shapes {list(a)} and {list(b)} do not broadcast together")


def operand(value: Any, like: np.ndarray) -> np.ndarray:
    """A Python number (or array) as an array that mixes with `like` by torch's rule."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return np.asarray(value).astype(common_scalar(like, value))  # out of range wraps around, as in torch
    raise TypeError(f"unsupported operand type for a Tensor: '{type(value).__name__}'")


def promoted(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Both operands as tensors of torch's common dtype, recorded so that gradients come back in their own."""
    if not isinstance(a, Tensor):
        a = Tensor(operand(a, b._array))
    if not isinstance(b, Tensor):
        b = Tensor(operand(b, a._array))
    kind = common(a._array, b._array)
    return cast(a, kind), cast(b, kind)


def cast(input: Tensor, kind: np.dtype) -> Tensor:
    """To another dtype; the tensor itself if it has it already."""
    array = input._array
    if array.dtype == kind:
        return input
    own = array.dtype
    with quiet(all="ignore"):
        out = array.real.astype(kind) if own.kind == "c" and kind.kind not in "cb" else array.astype(kind)
    if kind.kind not in "fc":
        return Tensor(out)

    def cast_backward(g: np.ndarray) -> tuple:
        return ((g.real if g.dtype.kind == "c" and own.kind != "c" else g).astype(own),)

    return record(out, (input,), cast_backward, again=lambda g: (cast(g, own),))


def both_arrays(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    x = a._array if isinstance(a, Tensor) else operand(a, b._array)
    return x, b._array if isinstance(b, Tensor) else operand(b, x)


def floating(input: Tensor) -> Tensor:
    """Integers and booleans as the default floating dtype."""
    return input if input._array.dtype.kind in "fc" else cast(input, default())
