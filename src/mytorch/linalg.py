"""torch.linalg: norms, products, systems of equations and decompositions of matrices."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from . import return_types
from .dtypes import to_numpy, unsupported
from .naming import public
from .ops.arrange import diagonal as _diagonal
from .ops.broadcast import cast
from .ops.combine import matrix_exp
from .ops.decompose import (
    LinAlgError,
    check_matrix,
    cholesky,
    det,
    eigh,
    inv,
    pinv,
    qr,
    slogdet,
    solve,
    solve_triangular,
    svd,
)
from .ops.linalg import matmul
from .ops.reduce import axis_of
from .ops.shape import stack
from .ops.statistics import norm as _norm
from .tensor import Tensor

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "lstsq", "matmul", "matrix_exp", "matrix_norm", "matrix_power",
    "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd",
    "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip


def vector_norm(input: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    if isinstance(ord, str):
        raise TypeError(f"linalg.vector_norm(): argument 'ord' must be Number, not {ord!r}")
    return _norm(input, ord, dim, keepdim, dtype)


def matrix_norm(
    input: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """fro, nuc (the sum of singular values), 2 and -2 (their extremes), 1 and inf (largest sum of a column, a row)."""
    if input._array.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if len(tuple(dim)) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {tuple(dim)}")
    if dtype is not None:
        input = cast(input, to_numpy(dtype))
    if input._array.dtype.kind not in "fc":
        raise RuntimeError(
            f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {input.dtype}"
        )
    rows, columns = (axis_of(d, input.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    if ord == "fro":
        return _norm(input, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        moved = input.movedim((rows, columns), (-2, -1))
        values = svdvals(moved)
        out = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
    elif abs(float(ord)) in (1.0, float("inf")):
        over, along = (rows, columns) if abs(float(ord)) == 1 else (columns, rows)
        sums = input.abs().sum(over, keepdim=True)
        out = (sums.amax if float(ord) > 0 else sums.amin)((over, along))
    else:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    for axis in sorted((rows, columns)) if keepdim else ():
        out = out.unsqueeze(axis)
    return out


def norm(input: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """A vector norm, or a matrix norm where `ord` is given for two dims (or is a word)."""
    if dim is not None:
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        if len(dims) > 2 and ord is not None:
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {dims}")
    elif ord is not None:
        if input.ndim not in (1, 2):
            raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
                               f"Got {input.ndim}D.")  # fmt: skip
        dims = tuple(range(input.ndim))
    if ord is not None and len(dims) == 2:
        return matrix_norm(input, ord, dims, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: the norm {ord!r} is for matrices")
    return _norm(input, 2 if ord is None else ord, dim, keepdim, dtype)


def svdvals(A: Tensor, *, driver: Any = None) -> Tensor:
    return svd(A, full_matrices=False).S


def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    return eigh(input, UPLO).eigenvalues


def _complex(array: np.ndarray, like: np.ndarray) -> Tensor:
    return Tensor(array.astype(np.complex64 if like.dtype in (np.float32, np.complex64) else np.complex128))


def eig(input: Tensor) -> Any:
    """Complex eigenvalues and vectors, without a gradient."""
    check_matrix("linalg.eig", input, square=True)
    _no_gradient("eig", input)
    values, vectors = np.linalg.eig(input._array)
    return return_types.linalg_eig(_complex(values, input._array), _complex(vectors, input._array))


def eigvals(input: Tensor) -> Tensor:
    check_matrix("linalg.eigvals", input, square=True)
    _no_gradient("eigvals", input)
    return _complex(np.linalg.eigvals(input._array), input._array)


def _no_gradient(name: str, A: Tensor) -> None:
    if A.requires_grad:
        raise NotImplementedError(f"mytorch has no gradient of linalg.{name}: detach() the matrix, or use eigh")


def _info(A: Tensor) -> Tensor:
    return Tensor(np.zeros(A._array.shape[:-2], np.int32))


def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    return return_types.linalg_cholesky_ex(cholesky(input, upper=upper), _info(input))


def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    return return_types.linalg_inv_ex(inv(A), _info(A))


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    return return_types.linalg_solve_ex(solve(A, B, left=left), _info(A))


def lstsq(input: Tensor, b: Tensor, rcond: Any = None, *, driver: Any = None) -> Any:
    """The X that comes nearest to A X = B, by the pseudo-inverse."""
    check_matrix("linalg.lstsq", input)
    vector = b._array.ndim == input._array.ndim - 1
    right = b.unsqueeze(-1) if vector else b
    solution = pinv(input, rcond) @ right
    m, n = input._array.shape[-2:]
    ranks = np.linalg.matrix_rank(input._array)
    kind = input._array.dtype
    residuals = Tensor(np.zeros(0, kind))
    if m > n and np.all(ranks == n) and driver != "gelsy":
        away = right - input @ solution
        residuals = (away * away).sum(-2)
    values = np.linalg.svd(input._array, compute_uv=False) if driver in ("gelsd", "gelss") else np.zeros(0, kind)
    rank = Tensor(np.asarray(ranks, np.int64) if driver != "gels" else np.zeros(0, np.int64))
    return return_types.linalg_lstsq(solution.squeeze(-1) if vector else solution, residuals, rank, Tensor(values))


def matrix_rank(
    input: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    check_matrix("linalg.matrix_rank", input)
    a = input._array
    values = np.abs(np.linalg.eigvalsh(a)) if hermitian else np.linalg.svd(a, compute_uv=False)
    plain = [v._array if isinstance(v, Tensor) else v for v in (tol if atol is None else atol, rtol)]
    top = values.max(-1, initial=0.0)
    relative = plain[1]
    if relative is None:
        relative = max(a.shape[-2:]) * np.finfo(a.dtype).eps if plain[0] is None else 0.0
    limit = np.maximum(0.0 if plain[0] is None else plain[0], relative * top)
    return Tensor(np.asarray((values > np.asarray(limit)[..., None]).sum(-1), np.int64))


def matrix_power(input: Tensor, n: int) -> Tensor:
    check_matrix("linalg.matrix_power", input, square=True)
    if n < 0:
        return matrix_power(inv(input), -n)
    if n == 0:
        eye = np.eye(input._array.shape[-1], dtype=input._array.dtype)
        return input * 0 + Tensor(eye) if input._array.size else input.clone()
    out: Tensor | None = None
    power = input
    while n:
        if n & 1:
            out = power if out is None else out @ power
        n >>= 1
        power = power @ power if n else power
    assert out is not None
    return out.clone() if out is input else out


def cond(input: Tensor, p: Any = None) -> Tensor:
    """How much a solution with this matrix may magnify errors: norm(A) * norm(inv(A))."""
    check_matrix("linalg.cond", input)
    if p in (None, 2, -2):
        values = svdvals(input)
        return values.amin(-1) / values.amax(-1) if p == -2 else values.amax(-1) / values.amin(-1)
    return matrix_norm(input, p) * matrix_norm(inv(input), p)


def multi_dot(tensors: Any) -> Tensor:
    """A product of several matrices (the first and last may be vectors), in the cheapest order for three."""
    parts = list(tensors)
    if len(parts) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(parts)}")
    for i, t in enumerate(parts):
        if t.ndim != 2 and not (t.ndim == 1 and i in (0, len(parts) - 1)):
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D (the first and last may be 1D) but got {t.ndim}D")
        if t.dtype != parts[0].dtype:
            raise RuntimeError(f"multi_dot(): all tensors must have be the same dtype, but got {t.dtype} at {i}")
    out = parts[-1]
    if len(parts) == 3:
        (a, b), c = ((p.shape[0] if p.ndim == 2 else 1, p.shape[-1]) for p in parts[:2]), parts[2]
        wide = c.shape[-1] if c.ndim == 2 else 1
        if a[0] * b[0] * b[1] + a[0] * b[1] * wide < b[0] * b[1] * wide + a[0] * b[0] * wide:
            return (parts[0] @ parts[1]) @ parts[2]
    for t in reversed(parts[:-1]):
        out = t @ out
    return out


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    return (x * y).sum(dim)


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of size 3 along dim."""
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = axis_of(dim, input.ndim)
    if input.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[axis]} and {other.shape[axis]}"
        )
    (a, b, c), (x, y, z) = input.unbind(axis), other.unbind(axis)
    return stack([b * z - c * y, c * x - a * z, a * y - b * x], axis)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    return _diagonal(A, offset, dim1, dim2)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Powers 0 .. N - 1 of each number, in a new last dim."""
    x = x.reshape(1) if not x.ndim else x
    n = x.shape[-1] if N is None else N
    if n < 1:
        raise RuntimeError(f"N must be greater than 1, but got {n}")
    one = x * 0 + 1
    powers = [one]
    for _ in range(n - 1):
        powers.append(powers[-1] * x)
    return stack(powers, -1)


def tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    left, right = input.shape[:ind], input.shape[ind:]
    rows, columns = int(np.prod(left)), int(np.prod(right))
    if rows != columns:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
                           f"but got {columns} != {rows}")  # fmt: skip
    return inv(input.reshape(rows, columns)).reshape(*right, *left)


def tensorsolve(input: Tensor, other: Tensor, dims: Any = None) -> Tensor:
    if dims is not None:
        last = [axis_of(d, input.ndim) for d in dims]
        input = input.permute(*[i for i in range(input.ndim) if i not in last], *last)
    rest = input.shape[other.ndim :]
    if int(np.prod(rest)) != other.numel():
        raise RuntimeError(f"Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                           f"prod(self.shape[:other.ndim]), but got {int(np.prod(rest))} "
                           f"!= {other.numel()}")  # fmt: skip
    return solve(input.reshape(other.numel(), other.numel()), other.reshape(-1)).reshape(rest)


def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflections 1 - tau v vᵀ that geqrf stores below the diagonal."""
    m, n = input.shape[-2:]
    eye = Tensor(np.eye(m, dtype=input._array.dtype))
    out = eye.expand(*input.shape[:-2], m, m)
    below = input.tril(-1)
    for i in range(tau.shape[-1]):
        v = below[..., i : i + 1] + eye[:, i : i + 1]  # (..., m, 1)
        out = out - tau[..., i : i + 1].unsqueeze(-1) * (out @ v) @ v.swapaxes(-1, -2)
    return out[..., :n]


globals().update({name: public(globals()[name]) for name in __all__ if name != "LinAlgError"})  # with out=


def __getattr__(name: str) -> Any:
    if name in ("lu", "lu_factor", "lu_factor_ex", "lu_solve"):
        return getattr(importlib.import_module("mytorch.lu"), name)
    raise unsupported(f"torch.linalg.{name}")
