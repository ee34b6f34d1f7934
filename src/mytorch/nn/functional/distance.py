"""Vectors by length, angle and distance."""

from __future__ import annotations

import numpy as np

from mytorch.ops.arrange import broadcast_tensors
from mytorch.ops.broadcast import promoted
from mytorch.ops.linalg import einsum
from mytorch.tensor import Tensor

__all__ = ["bilinear", "cosine_similarity", "normalize", "pairwise_distance", "pdist"]


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divided by the p-norm along dim, or by eps where that is smaller."""
    made = input / input.norm(p, dim, keepdim=True).clamp(min=eps)
    return made if out is None else out.copy_(made)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Of vectors along dim, which the two tensors have after broadcasting."""
    x1, x2 = broadcast_tensors(*promoted(x1, x2))
    if x1._array.dtype.kind not in "fc":
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {x1.dtype.legacy[:-6]}")

    def length(x: Tensor) -> Tensor:
        return x.norm(2.0, dim, keepdim=True).clamp(min=eps)

    return ((x1 / length(x1)) * (x2 / length(x2))).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of the difference along the last dim; eps keeps its gradient finite at 0."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances of all pairs of rows, (0, 1), (0, 2), ... (n - 2, n - 1)."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, but got {p}")
    first, second = (Tensor(i) for i in np.triu_indices(len(input), 1))
    return (input[first] - input[second]).norm(p, -1)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1 (..., I), input2 (..., J), weight (O, I, J) -> (..., O)."""
    if input1.ndim != input2.ndim or input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {list(input1.shape)} and {list(input2.shape)}"
        )
    if input1.shape[-1] != weight.shape[1] or input2.shape[-1] != weight.shape[2]:
        raise RuntimeError(
            f"bilinear(): inputs {list(input1.shape)}, {list(input2.shape)} do not fit weight {list(weight.shape)}"
        )
    out = einsum("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else out + bias
