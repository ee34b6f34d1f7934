"""P A = L U by elimination with the largest pivot of each column, with gradients, and systems solved by it.

Only the square head of the matrix has a backward of its own. The rows below it are a part of L times U, and the columns
beside it L times a part of U, so that these parts are solutions of triangular systems.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import return_types
from .autograd import record
from .ops import either
from .ops.decompose import check_matrix, solve_triangular, turned
from .ops.shape import cat
from .tensor import Tensor


def _eliminated(matrix: np.ndarray, pivot: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """LAPACK's getrf: both factors in one matrix, row swaps counted from 1, and the first column without a pivot."""
    out, info = matrix.copy(), 0
    swaps = np.arange(1, min(out.shape) + 1, dtype=np.int32)
    for i in range(len(swaps)):
        best = i + int(np.abs(out[i:, i]).argmax()) if pivot else i
        swaps[i] = best + 1
        if best != i:
            out[[i, best]] = out[[best, i]]
        if out[i, i] == 0:
            info = info or i + 1
            continue
        out[i + 1 :, i] /= out[i, i]
        out[i + 1 :, i + 1 :] -= np.outer(out[i + 1 :, i], out[i, i + 1 :])
    return out, swaps, info


def _order(swaps: np.ndarray, rows: int) -> np.ndarray:
    """(..., k) swaps → (..., rows): which row of A is row i of P A."""
    order = np.broadcast_to(np.arange(rows), (*swaps.shape[:-1], rows)).reshape(-1, rows).copy()
    for line, exchange in zip(order, swaps.reshape(-1, swaps.shape[-1])):
        for i, other in enumerate(exchange):
            line[[i, other - 1]] = line[[other - 1, i]]
    return order.reshape(*swaps.shape[:-1], rows)


def _rows(x: Any, order: np.ndarray) -> Any:
    index = Tensor(np.broadcast_to(order[..., None], (*order.shape, x.shape[-1])).copy())
    return x.expand(*order.shape[:-1], *x.shape[-2:]).gather(-2, index)


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    check_matrix("linalg.lu_factor_ex", A)
    m, n = A._array.shape[-2:]
    lead, k = A._array.shape[:-2], min(m, n)
    made = [_eliminated(matrix, pivot) for matrix in A._array.reshape(-1, m, n)]
    packed = np.array([each[0] for each in made], A._array.dtype).reshape(*lead, m, n)
    swaps = np.array([each[1] for each in made], np.int32).reshape(*lead, k)
    info = np.array([each[2] for each in made], np.int32).reshape(lead)
    if check_errors and info.any():
        raise RuntimeError(f"torch.linalg.lu_factor_ex: U[{info.max()},{info.max()}] is zero")
    if A.requires_grad:
        moved = _rows(A, _order(swaps, m))
        out = record(packed[..., :k, :k], (moved[..., :k, :k],), _head_backward, saves_output=True, again=True)
        if m > k:
            below = solve_triangular(out.triu(), moved[..., k:, :], upper=True, left=False)
            out = cat([out, below], -2)
        if n > k:
            beside = solve_triangular(out.tril(-1), moved[..., k:], upper=False, unitriangular=True)
            out = cat([out, beside], -1)
    else:
        out = Tensor(packed)
    return return_types.linalg_lu_factor_ex(out, Tensor(swaps), Tensor(info))


def _head_backward(g: Any, y: Any) -> tuple:
    k = y.shape[-1]
    low, one = either.like(g, np.tri(k, k, -1)), either.like(g, np.eye(k))
    lower, upper = y * low + one, y * (1 - low)
    inner = (turned(lower) @ (g * low)) * low + ((g * (1 - low)) @ turned(upper)) * (1 - low)
    invert = np.linalg.inv if isinstance(g, np.ndarray) else _inv
    return (turned(invert(lower)) @ inner @ turned(invert(upper)),)


def _inv(x: Tensor) -> Tensor:
    from .ops.decompose import inv

    return inv(x)


def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    check_matrix("linalg.lu_factor", A)
    return return_types.linalg_lu_factor(*lu_factor_ex(A, pivot=pivot)[:2])


def lu(A: Tensor, *, pivot: bool = True) -> Any:
    check_matrix("linalg.lu", A)
    packed, swaps = lu_factor(A, pivot=pivot)
    return return_types.linalg_lu(*lu_unpack(packed, swaps))


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    m, n = LU_data._array.shape[-2:]
    k, kind = min(m, n), LU_data._array.dtype
    order = _order(LU_pivots._array, m)
    P = Tensor(turned(np.eye(m, dtype=kind)[order])) if unpack_pivots else Tensor(np.empty(0, kind))
    if not unpack_data:
        return return_types.lu_unpack(P, Tensor(np.empty(0, kind)), Tensor(np.empty(0, kind)))
    lower = LU_data[..., :k].tril(-1) + Tensor(np.eye(m, k, dtype=kind))
    return return_types.lu_unpack(P, lower, LU_data[..., :k, :].triu())


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A X = B, or X A = B (not left), or with Aᵀ in A's place (adjoint)."""
    if not left:  # X A = B is Aᵀ Xᵀ = Bᵀ
        return turned(lu_solve(LU, pivots, turned(B), adjoint=not adjoint))
    P, lower, upper = lu_unpack(LU, pivots)
    if adjoint:
        inner = solve_triangular(turned(upper), B, upper=False)
        return P @ solve_triangular(turned(lower), inner, upper=True, unitriangular=True)
    inner = solve_triangular(lower, turned(P) @ B, upper=False, unitriangular=True)
    return solve_triangular(upper, inner, upper=True)
