"""Inverses, systems of equations and decompositions of matrices (and of batches of them), with their gradients.

NumPy's LAPACK computes the values. The gradients are written with operations that arrays and tensors share, so that
they can be differentiated again. Matrices are the last two dims; batches broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import return_types
from ..autograd import record
from ..tensor import Tensor
from . import either
from .broadcast import unbroadcast


class LinAlgError(RuntimeError):
    """A matrix has no inverse, no Cholesky factor, or an iteration did not converge."""


def turned(x: Any) -> Any:
    """Rows as columns."""
    return x.swapaxes(-1, -2)


def check_matrix(name: str, *tensors: Tensor, square: bool = False) -> None:
    for t in tensors:
        if not isinstance(t, Tensor):
            raise TypeError(f"{name}(): argument 'A' must be Tensor, not {type(t).__name__}")
        if t._array.ndim < 2:
            raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
        if t._array.dtype.kind not in "fc" or t._array.dtype == np.float16:
            raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {t.dtype}")
        if square and t._array.shape[-1] != t._array.shape[-2]:
            rows, columns = t._array.shape[-2:]
            raise RuntimeError(
                f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices"
            )


def inv(A: Tensor) -> Tensor:
    check_matrix("linalg.inv", A, square=True)
    try:
        out = np.linalg.inv(A._array)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "linalg.inv: The diagonal element is zero, the inversion could not be completed because the input matrix "
            "is singular."
        ) from None

    def inv_backward(g: Any, y: Any) -> tuple:
        return (-(turned(y) @ g @ turned(y)),)

    return record(out, (A,), inv_backward, saves_output=True, again=True)


def det(A: Tensor) -> Tensor:
    check_matrix("linalg.det", A, square=True)

    def det_backward(g: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple:
        return (np.asarray(g)[..., None, None] * turned(_adjugate(x)),)

    def det_again(g: Tensor, x: Tensor, y: Tensor) -> tuple:
        return ((g * y).unsqueeze(-1).unsqueeze(-1) * turned(inv(x)),)

    return record(np.asarray(np.linalg.det(A._array)), (A,), det_backward, (A,), True, again=det_again)


def _adjugate(x: np.ndarray) -> np.ndarray:
    """det(x) * inv(x), which exists for singular matrices too: from the SVD, with products of all other values."""
    if not x.shape[-1]:
        return x
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.stack([np.delete(s, i, -1).prod(-1) for i in range(n)], -1)
    signs = np.linalg.det(u) * np.linalg.det(vh)
    return (turned(vh) * (others * np.asarray(signs)[..., None])[..., None, :]) @ turned(u)


def slogdet(A: Tensor) -> Any:
    check_matrix("linalg.slogdet", A, square=True)
    sign, size = np.linalg.slogdet(A._array)

    def slogdet_backward(g: np.ndarray, x: np.ndarray) -> tuple:
        return (np.asarray(g)[..., None, None] * turned(np.linalg.inv(x)),)

    def slogdet_again(g: Tensor, x: Tensor) -> tuple:
        return (g.unsqueeze(-1).unsqueeze(-1) * turned(inv(x)),)

    return return_types.linalg_slogdet(
        Tensor(np.asarray(sign)), record(np.asarray(size), (A,), slogdet_backward, (A,), again=slogdet_again)
    )


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A X = B (or X A = B); B may be vectors where A has as many batches."""
    check_matrix("linalg.solve", A, square=True)
    if A._array.dtype != B._array.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {A.dtype} and B of type "
            f"{B.dtype} instead"
        )
    if not left:
        return turned(solve(turned(A), turned(B)))
    vector = B._array.ndim == 1 or (B._array.ndim == A._array.ndim - 1 and B._array.shape == A._array.shape[:-1])
    if vector:
        return solve(A, B.unsqueeze(-1)).squeeze(-1)
    if B._array.ndim < 2 or B._array.shape[-2] != A._array.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({list(A._array.shape[-2:])} and "
            f"{list(B._array.shape[-2:])})"
        )
    try:
        out = np.linalg.solve(A._array, B._array)
    except np.linalg.LinAlgError:
        raise LinAlgError("linalg.solve: The solver failed because the input matrix is singular.") from None
    except ValueError:
        raise RuntimeError(
            f"linalg.solve: batches of A {list(A._array.shape)} and B {list(B._array.shape)} do not broadcast"
        ) from None
    sa, sb = A._array.shape, B._array.shape

    def solve_backward(g: Any, a: Any, x: Any) -> tuple:
        solver = np.linalg.solve if isinstance(g, np.ndarray) else solve
        gb = solver(turned(a), g)
        return unbroadcast(-(gb @ turned(x)), sa), unbroadcast(gb, sb)

    return record(out, (A, B), solve_backward, (A,), True, again=True)


def solve_triangular(
    input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """solve() that reads one triangle of A only, and ones for its diagonal if unitriangular."""
    check_matrix("linalg.solve_triangular", input, B)
    part = input.triu() if upper else input.tril()
    if unitriangular:
        eye = np.eye(input._array.shape[-1], dtype=input._array.dtype)
        part = part - part * Tensor(eye) + Tensor(eye)
    return solve(part, B, left=left)


def cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """L with L Lᵀ = A (or its transpose); only one triangle of A is read."""
    check_matrix("linalg.cholesky", input, square=True)
    a = input._array
    a = np.triu(a) if upper else np.tril(a)
    a = a + turned(a) - np.eye(a.shape[-1], dtype=a.dtype) * a
    try:
        out = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "linalg.cholesky: The factorization could not be completed because the input is not positive-definite."
        ) from None

    def cholesky_backward(g: Any, y: Any) -> tuple:
        """inv(L)ᵀ phi(Lᵀ g) inv(L), phi being the lower triangle with half of the diagonal; made symmetric."""
        invert = np.linalg.inv if isinstance(g, np.ndarray) else inv
        lower = either.like(g, np.tri(y.shape[-1]) - 0.5 * np.eye(y.shape[-1]))
        i = invert(y)
        x = turned(i) @ ((turned(y) @ g) * lower) @ i
        return ((x + turned(x)) * 0.5,)

    made = record(out, (input,), cholesky_backward, saves_output=True, again=True)
    return turned(made) if upper else made


def _divisor(differences: Any, *parts: Any) -> Any:
    """What vectors' gradients are divided by: for values that repeat 0, but 1 where there is nothing to divide."""
    nothing = either.values(differences) == 0
    for part in parts:
        nothing = nothing & (either.values(part) == 0)
    return differences + either.like(parts[0], nothing)


def eigh(input: Tensor, UPLO: Any = "L") -> Any:
    """Values in ascending order and vectors of symmetric matrices."""
    check_matrix("linalg.eigh", input, square=True)
    values, vectors = np.linalg.eigh(input._array, UPLO)
    n = values.shape[-1]
    # both results as one array, so that one backward sees both gradients: (..., n, n + 1)
    packed = np.concatenate([values[..., None], vectors], -1)

    def eigh_backward(g: Any, y: Any) -> tuple:
        w, v, gw, gv = y[..., 0], y[..., 1:], g[..., 0], g[..., 1:]
        off = either.like(g, 1 - np.eye(n))
        inner = (turned(v) @ gv) * off
        inner = inner / _divisor(w[..., None, :] - w[..., :, None], inner)
        inner = inner + gw[..., None, :] * either.like(g, np.eye(n))
        x = v @ inner @ turned(v)
        return ((x + turned(x)) * 0.5,)

    both = record(packed, (input,), eigh_backward, saves_output=True, again=True)
    return return_types.linalg_eigh(both[..., 0], both[..., 1:])


def svd(A: Tensor, full_matrices: bool = True, *, driver: Any = None) -> Any:
    """A = U diag(S) Vh. Gradients are those of the reduced form."""
    check_matrix("linalg.svd", A)
    m, n = A._array.shape[-2:]
    k = min(m, n)
    if full_matrices and m != n:
        u, s, vh = np.linalg.svd(A._array, full_matrices=True)
        if A._requires_grad:
            reduced = svd(A, full_matrices=False)
            return return_types.linalg_svd(Tensor(u), reduced.S, Tensor(vh))
        return return_types.linalg_svd(Tensor(u), Tensor(s), Tensor(vh))
    u, s, vh = np.linalg.svd(A._array, full_matrices=False)
    packed = np.concatenate([u, s[..., None, :], turned(vh)], -2)  # (..., m + 1 + n, k)
    eye = np.eye(k)

    def svd_backward(g: Any, y: Any) -> tuple:
        u, s, v = y[..., :m, :], y[..., m, :], y[..., m + 1 :, :]
        gu, gs, gv = g[..., :m, :], g[..., m, :], g[..., m + 1 :, :]
        one = either.like(g, eye)
        squares = s * s
        a, b = turned(u) @ gu, turned(v) @ gv
        left, right = a - turned(a), b - turned(b)  # 0 on the diagonal
        apart = _divisor(squares[..., None, :] - squares[..., :, None], left, right)
        inner = left / apart * s[..., None, :] + s[..., :, None] * (right / apart)
        inner = inner + gs[..., None, :] * one
        out = u @ inner @ turned(v)
        if m > k:
            rest = gu - u @ a
            out = out + rest / _divisor(s[..., None, :], rest) @ turned(v)
        if n > k:
            rest = gv - v @ b
            out = out + u @ turned(rest / _divisor(s[..., None, :], rest))
        return (out,)

    both = record(packed, (A,), svd_backward, saves_output=True, again=True)
    return return_types.linalg_svd(both[..., :m, :], both[..., m, :], turned(both[..., m + 1 :, :]))


def qr(A: Tensor, mode: Any = "reduced") -> Any:
    check_matrix("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           "'complete'")  # fmt: skip
    m, n = A._array.shape[-2:]
    if mode != "reduced" and not (mode == "complete" and m <= n):
        made = np.linalg.qr(A._array, mode)
        if A._requires_grad:
            raise NotImplementedError(f"mytorch has a gradient of linalg.qr for mode='reduced', not for {mode!r}")
        parts = (np.zeros(0, A._array.dtype), made) if mode == "r" else made
        return return_types.linalg_qr(*map(Tensor, parts))
    q, r = np.linalg.qr(A._array)
    k = min(m, n)
    if m < n:  # the first columns decide Q; the others are Qᵀ times themselves
        head, tail = A[..., :m], A[..., m:]
        inner = qr(head)
        from .shape import cat

        return return_types.linalg_qr(inner.Q, cat([inner.R, turned(inner.Q) @ tail], -1))
    packed = np.concatenate([q, r], -2)  # (..., m + k, k)

    def qr_backward(g: Any, y: Any) -> tuple:
        q, r, gq, gr = y[..., :m, :], y[..., m:, :], g[..., :m, :], g[..., m:, :]
        invert = np.linalg.inv if isinstance(g, np.ndarray) else inv
        low = either.like(g, np.tri(k, k, -1))
        x = r @ turned(gr) - turned(gq) @ q
        x = x * low
        x = x + turned(x) + (r @ turned(gr) - turned(gq) @ q) * either.like(g, np.eye(k))
        return ((gq + q @ x) @ turned(invert(r)),)

    both = record(packed, (A,), qr_backward, saves_output=True, again=True)
    return return_types.linalg_qr(both[..., :m, :], both[..., m:, :])


def pinv(input: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The pseudo-inverse; singular values below rtol times the largest (and below atol) count as 0."""
    check_matrix("linalg.pinv", input)
    a = input._array
    if not a.size:
        return Tensor(np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype))
    relative, least = (v._array if isinstance(v, Tensor) else v for v in (rcond if rtol is None else rtol, atol))
    if relative is None:
        relative = (
            0.0 if least is not None and np.any(np.asarray(least) > 0) else max(a.shape[-2:]) * np.finfo(a.dtype).eps
        )
    if hermitian:
        low = np.tril(a)
        a = low + turned(np.tril(a, -1))
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    limit = np.maximum(0.0 if least is None else least, relative * s.max(-1))
    useful = s > np.asarray(limit)[..., None]
    out = (turned(vh) * np.where(useful, 1 / np.where(useful, s, 1), 0)[..., None, :]) @ turned(u)
    out = out.astype(a.dtype, copy=False)

    def pinv_backward(g: Any, x: Any, y: Any) -> tuple:
        t, gt = turned(y), turned(g)
        m, n = x.shape[-2:]
        outside, inside = either.like(g, np.eye(m)) - x @ y, either.like(g, np.eye(n)) - y @ x
        return (-(t @ g @ t) + outside @ gt @ y @ t + t @ y @ gt @ inside,)

    return record(out, (input,), pinv_backward, (input,), True, again=True)
