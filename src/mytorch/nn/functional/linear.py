"""y = x Wᵀ + b."""

from __future__ import annotations

import math

import numpy as np

from mytorch.autograd import needs, record
from mytorch.parallel import product
from mytorch.tensor import Tensor

__all__ = ["linear"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input (..., in), weight (out, in) or (in,), bias (out,) -> (..., out)."""
    x, w = input._array, weight._array
    if w.ndim != 2 or x.ndim == 0 or w.dtype.kind == "c":
        out = input.matmul(weight.t())
        return out if bias is None else out + bias
    if x.shape[-1] != w.shape[1]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({x.size // max(x.shape[-1], 1)}x{x.shape[-1]} and "
            f"{w.shape[1]}x{w.shape[0]})"
        )
    if x.dtype != w.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {input.dtype} and {weight.dtype}")
    shape = x.shape
    rows = math.prod(shape[:-1])  # not -1, which NumPy cannot work out where a size is 0
    if x.ndim != 2:
        x = x.reshape(rows, shape[-1])
    out = product(x, w.T)
    if bias is not None:
        out += bias._array
    wants_x, wants_w, wants_b = needs(input), needs(weight), bias is not None and needs(bias)

    def linear_backward(grad: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray | None, ...]:
        g = grad if grad.ndim == 2 else grad.reshape(rows, grad.shape[-1])
        gx = product(g, w).reshape(shape) if wants_x else None
        gw = product(g.T, x) if wants_w else None
        gb = g.sum(0) if wants_b else None
        return gx, gw, gb

    def linear_again(grad: Tensor, input: Tensor, weight: Tensor) -> tuple[Tensor | None, ...]:
        g, x = grad.reshape(rows, grad.shape[-1]), input.reshape(rows, shape[-1])
        gx = g.matmul(weight).reshape(shape) if wants_x else None
        return gx, g.t().matmul(x) if wants_w else None, g.sum(0) if wants_b else None

    if len(shape) != 2:
        out = out.reshape(*shape[:-1], w.shape[0])
    parents = (input, weight) if bias is None else (input, weight, bias)
    return record(out, parents, linear_backward, (input, weight), again=linear_again)
