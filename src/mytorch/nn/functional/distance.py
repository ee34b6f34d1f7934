"""Vectors by length and angle."""

from __future__ import annotations

from mytorch.tensor import Tensor


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divided by the p-norm along dim, or by eps where that is smaller."""
    return input / input.norm(p, dim, keepdim=True).clamp(min=eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    def length(x: Tensor) -> Tensor:
        return x.norm(2.0, dim, keepdim=True).clamp(min=eps)

    return ((x1 / length(x1)) * (x2 / length(x2))).sum(dim)
