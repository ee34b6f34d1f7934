"""Matrix functions under their older names, and LU factors, which NumPy does not give."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import return_types
from ..naming import attach, named
from ..tensor import Tensor
from . import decompose
from .decompose import cholesky as _cholesky
from .decompose import inv, pinv, qr, solve, solve_triangular, turned


def det(input: Tensor) -> Tensor:
    """torch.det(input), where linalg has det(A); so for the next two."""
    return decompose.det(input)


def slogdet(input: Tensor) -> Any:
    return return_types.slogdet(*decompose.slogdet(input))


def inverse(input: Tensor) -> Tensor:
    return inv(input)


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The reduced form by default, and V instead of its transpose."""
    u, s, vh = decompose.svd(input, full_matrices=not some)
    if not compute_uv:
        return return_types.svd(u * 0, s, turned(vh) * 0)
    return return_types.svd(u, s, turned(vh))


def _qr(input: Tensor, some: bool = True) -> Any:
    return return_types.qr(*qr(input, "reduced" if some else "complete"))


def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    return _cholesky(input, upper=upper)


def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X with A X = input, input2 being the Cholesky factor of A."""
    lower = turned(input2) if upper else input2
    if np.triu(lower._array, 1).any():
        lower = lower.tril()
    return solve(lower @ turned(lower), input)


def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    if input._array.ndim < 2 or input._array.shape[-1] != input._array.shape[-2]:
        raise RuntimeError(
            f"cholesky_inverse: A must be batches of square matrices, but got {list(input._array.shape)}"
        )
    eye = Tensor(np.broadcast_to(np.eye(input._array.shape[-1], dtype=input._array.dtype), input._array.shape))
    return cholesky_solve(eye, input, upper)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    return pinv(input, rcond)


def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """X with A X = input for a triangular A."""
    part, above = (turned(A), not upper) if transpose else (A, upper)
    solution = solve_triangular(part, input, upper=above, unitriangular=unitriangular)
    return return_types.triangular_solve(solution, A.clone())


def matrix_power(input: Tensor, n: int) -> Tensor:
    from ..linalg import matrix_power as power

    return power(input, n)


METHODS = attach(
    det, slogdet, inverse, pinverse, svd, cholesky, cholesky_solve, cholesky_inverse, triangular_solve, matrix_power,
    qr=_qr,
)  # fmt: skip
FUNCTIONS = named()
