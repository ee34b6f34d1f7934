"""softmax and its logarithm along a dim, safe for any finite input."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record
from ..naming import attach, numpy_names
from ..tensor import Tensor
from .broadcast import floating
from .reduce import axis_of


@numpy_names
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    input = floating(input if dtype is None else input.to(dtype))
    axis = axis_of(dim, input._array.ndim)
    if not input._array.ndim:
        return input * 0 + 1

    def softmax_backward(g: np.ndarray, y: np.ndarray) -> tuple[np.ndarray]:
        gx = g * y
        gx -= y * gx.sum(axis, keepdims=True)
        return (gx,)

    def softmax_again(g: Tensor, y: Tensor) -> tuple[Tensor]:
        gx = g * y
        return (gx - y * gx.sum(axis, keepdim=True),)

    out = softmax_array(input._array, axis)
    return record(out, (input,), softmax_backward, saves_output=True, again=softmax_again)


def softmax_array(x: np.ndarray, axis: int) -> np.ndarray:
    out = x - x.max(axis, keepdims=True) if x.size else x.copy()
    np.exp(out, out=out)
    out /= out.sum(axis, keepdims=True)
    return out


@numpy_names
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    input = floating(input if dtype is None else input.to(dtype))
    x = input._array
    axis = axis_of(dim, x.ndim)
    if not x.ndim:  # the logarithm of a probability of 1
        return input * 0
    out = x - x.max(axis, keepdims=True) if x.size else x.copy()
    out -= np.log(np.exp(out).sum(axis, keepdims=True))

    def log_softmax_backward(g: np.ndarray, y: np.ndarray) -> tuple[np.ndarray]:
        return (g - np.exp(y) * g.sum(axis, keepdims=True),)

    def log_softmax_again(g: Tensor, y: Tensor) -> tuple[Tensor]:
        return (g - y.exp() * g.sum(axis, keepdim=True),)

    return record(out, (input,), log_softmax_backward, saves_output=True, again=log_softmax_again)


METHODS = attach(softmax, log_softmax)
