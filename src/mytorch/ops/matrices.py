"""Matrix functions under their older names, and LU factors, which NumPy does not give."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..naming import attach, named
from ..tensor import Tensor
from . import decompose
from .decompose import cholesky as _cholesky
from .decompose import det, inv, pinv, qr, slogdet, solve, solve_triangular, turned


class OldSVD(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> OldSVD:
    """The reduced form by default, and V instead of its transpose."""
    u, s, vh = decompose.svd(input, full_matrices=not some)
    if not compute_uv:
        return OldSVD(u * 0, s, turned(vh) * 0)
    return OldSVD(u, s, turned(vh))


def _qr(input: Tensor, some: bool = True) -> Any:
    return qr(input, "reduced" if some else "complete")


def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    return _cholesky(input, upper=upper)


def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X with A X = input, from the Cholesky factor of A."""
    lower = turned(L) if upper else L
    if np.triu(lower._array, 1).any():
        lower = lower.tril()
    return solve(lower @ turned(lower), input)


def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    if L._array.ndim < 2 or L._array.shape[-1] != L._array.shape[-2]:
        raise RuntimeError(f"cholesky_inverse: A must be batches of square matrices, but got {list(L._array.shape)}")
    eye = Tensor(np.broadcast_to(np.eye(L._array.shape[-1], dtype=L._array.dtype), L._array.shape))
    return cholesky_solve(eye, L, upper)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    return pinv(input, rcond)


class Solution(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor


def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Solution:
    """X with A X = b for a triangular A."""
    part, above = (turned(A), not upper) if transpose else (A, upper)
    return Solution(solve_triangular(part, b, upper=above, unitriangular=unitriangular), A.clone())


def matrix_power(input: Tensor, n: int) -> Tensor:
    from ..linalg import matrix_power as power

    return power(input, n)


METHODS = attach(
    det, slogdet, pinverse, svd, cholesky, cholesky_solve, cholesky_inverse, triangular_solve, matrix_power,
    inverse=inv, qr=_qr,
)  # fmt: skip
FUNCTIONS = named()
