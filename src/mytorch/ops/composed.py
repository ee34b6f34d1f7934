"""Operations written with others: their gradients follow by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import return_types
from ..autograd import record
from ..naming import attach, named, numpy_names
from ..tensor import Tensor
from . import either
from .arrange import at_least, narrow
from .broadcast import cast, floating, mismatch, promoted, quiet, unbroadcast
from .inplace import setitem
from .linalg import tensordot
from .order import sort
from .reduce import axis_of
from .shape import cat, reshape, transpose, unsqueeze
from .statistics import amax, amin


def aminmax(input: Tensor, *, dim: Any = None, keepdim: bool = False) -> Any:
    if not input._array.size and dim is None:
        raise RuntimeError("aminmax(): Expected reduction dim to be specified for input.numel() == 0.")
    if not input._array.size and input._array.shape[dim] == 0:
        raise IndexError(f"aminmax: Expected reduction dim {dim} to have non-zero size.")
    return return_types.aminmax(amin(input, dim, keepdim), amax(input, dim, keepdim))


def _log_of_sum(input: Tensor, other: Tensor, base: float | None) -> Tensor:
    """log(base^input + base^other), from the larger one on so that nothing overflows."""
    top = input.maximum(other).detach()
    infinite = Tensor(np.isinf(top._array))
    top = top.masked_fill(infinite, 0.0)
    power = Tensor.exp if base is None else Tensor.exp2  # type: ignore[attr-defined]
    total = power(input - top) + power(other - top)
    return (total.log() if base is None else total.log2()) + top


def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    return _log_of_sum(floating(input), floating(other), None)


def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    return _log_of_sum(floating(input), floating(other), 2.0)


def hypot(input: Tensor, other: Tensor) -> Tensor:
    """The length of (input, other), also where their squares overflow."""
    a, b = (floating(t) for t in promoted(input, other))
    sa, sb = a._array.shape, b._array.shape

    def hypot_backward(g: Any, a: Any, b: Any, y: Any) -> tuple:
        return unbroadcast(g * a / y, sa), unbroadcast(g * b / y, sb)

    try:
        with quiet(all="ignore"):
            out = np.hypot(a._array, b._array)
    except ValueError:
        raise mismatch(sa, sb) from None
    return record(out, (a, b), hypot_backward, (a, b), True, again=True)


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    x = floating(input) if eps is None else floating(input).clamp(eps, 1 - eps)
    return (x / (1 - x)).log()


def xlogy(input: Any, other: Any) -> Tensor:
    """input * log(other), and 0 where input is 0 (but nan where other is nan)."""
    return _times_log(input, other, np.log, lambda y: y.log(), 0.0)


def xlog1py(input: Any, other: Any) -> Tensor:
    """input * log(1 + other), and 0 where input is 0 (but nan where other is nan)."""
    return _times_log(input, other, np.log1p, lambda y: y.log1p(), 1.0)


def _times_log(input: Any, other: Any, on_arrays: Any, on_tensors: Any, shift: float) -> Tensor:
    """input * log(other + shift)."""
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise TypeError("xlogy() and xlog1py() need a tensor, but got two numbers")
    input, other = (t if isinstance(t, Tensor) else Tensor(np.asarray(float(t))) for t in (input, other))
    if not input._array.ndim and other._array.ndim:
        input = cast(input, floating(other)._array.dtype)
    if input._array.ndim and not other._array.ndim:
        other = cast(other, floating(input)._array.dtype)
    first, second = promoted(floating(input), floating(other))
    x, y = first._array, second._array
    try:
        with quiet(all="ignore"):
            out = np.where((x == 0) & ~np.isnan(y), 0, x * on_arrays(y)).astype(x.dtype)
    except ValueError:
        raise mismatch(x.shape, y.shape) from None
    sx, sy = x.shape, y.shape

    def xlogy_backward(g: Any, x: Any, y: Any) -> tuple:
        log = on_arrays if isinstance(y, np.ndarray) else on_tensors
        flat = (either.values(x) == 0) & (either.values(y) <= -shift)
        return unbroadcast(g * either.where(flat, 0.0, log(y)), sx), unbroadcast(g * (x / (y + shift)), sy)

    return record(out, (first, second), xlogy_backward, (first, second), again=True)


@numpy_names
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    if dtype is not None:
        input = input.to(dtype)
    if input._array.dtype.kind not in "fc":
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{input.dtype.legacy.removesuffix('Tensor')}"
        )
    valid = cast(~input.isnan(), input._array.dtype)
    with quiet(all="ignore"):
        return input.nansum(dim, keepdim) / valid.sum(dim, keepdim)


def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbouring elements, taken n times."""
    if not input._array.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = axis_of(dim, input._array.ndim)
    if n and (prepend is not None or append is not None):
        input = cat([t for t in (prepend, input, append) if t is not None], axis)
    for _ in range(n):
        size = input._array.shape[axis]
        if size == 0:
            return input.clone()
        after, before = narrow(input, axis, 1, size - 1), narrow(input, axis, 0, size - 1)
        input = after ^ before if input._array.dtype == np.bool_ else after - before
    return input.clone() if n == 0 else input


_CDIST_MODES = (
    "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist",
)  # fmt: skip


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = None) -> Tensor:
    """The distance of each row of x1 from each row of x2."""
    if x1._array.ndim < 2 or x2._array.ndim < 2:
        raise RuntimeError(
            f"cdist only supports at least 2D tensors, X1 got: {x1._array.ndim}D, X2 got: {x2._array.ndim}D"
        )
    if x1._array.shape[-1] != x2._array.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1._array.shape[-1]} X2: {x2._array.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, but got {p}")
    if compute_mode not in (None, *_CDIST_MODES):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return (unsqueeze(x1, -2) - unsqueeze(x2, -3)).norm(p, dim=-1)


_ROUNDING: dict[str, Any] = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}


def _quantiles(input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool) -> Tensor:
    if interpolation not in ("linear", "midpoint", *_ROUNDING):
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if input._array.dtype.kind != "f":
        raise RuntimeError(f"quantile() input tensor must be either float or double dtype, but got {input.dtype}")
    if isinstance(q, Tensor) and q._array.ndim > 1:
        raise RuntimeError(f"quantile() q must be a scalar or 1D tensor, but got a {q._array.ndim}D tensor")
    if isinstance(q, Tensor) and q._array.dtype != input._array.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if not input._array.size:
        raise RuntimeError("quantile() input tensor must be non-empty")
    wanted = np.asarray(q._array if isinstance(q, Tensor) else q, input._array.dtype)
    if not ((wanted >= 0) & (wanted <= 1)).all():
        raise RuntimeError(f"quantile() q values must be in the range [0, 1], but got {wanted}")
    rank = input._array.ndim
    rows = reshape(input, -1) if dim is None else input.movedim(axis_of(dim, rank), -1) if rank else reshape(input, 1)
    ordered = sort(rows, -1)[0]  # nan comes last
    missing = np.isnan(ordered._array).sum(-1, keepdims=True)
    counted = ordered._array.shape[-1] - (missing if skip_nan else 0 * missing)
    # places as torch rounds them, in the input's own precision: (..., q)
    at = np.maximum(wanted.reshape(-1) * (counted - 1).astype(wanted.dtype), 0)
    if interpolation in _ROUNDING:
        at = _ROUNDING[interpolation](at)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(counted - 1, 0))
    share = np.full_like(at, 0.5) * (at != low) if interpolation == "midpoint" else at - low
    a, b = (ordered.gather(-1, Tensor(np.ascontiguousarray(np.broadcast_to(i, at.shape)))) for i in (low, high))
    quantiles = a.lerp(b, Tensor(share.astype(input._array.dtype)))
    if not skip_nan:
        quantiles = quantiles.masked_fill(Tensor(np.broadcast_to(missing > 0, at.shape)), float("nan"))
    quantiles = quantiles.movedim(-1, 0)  # (q, ...)
    if keepdim and rank:
        shape = [len(at.reshape(-1, at.shape[-1])[0])] + [1] * rank
        quantiles = reshape(quantiles, shape) if dim is None else quantiles.unsqueeze(axis_of(dim, rank) + 1)
    return quantiles if wanted.ndim else quantiles[0]


@numpy_names
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Interpolates between the two nearest elements in sorted order."""
    return _quantiles(input, q, dim, keepdim, interpolation, skip_nan=False)


@numpy_names
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    return _quantiles(input, q, dim, keepdim, interpolation, skip_nan=True)


def inner(input: Tensor, other: Tensor) -> Tensor:
    if not input._array.ndim or not other._array.ndim:
        return input * other
    if input._array.shape[-1] != other._array.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input._array.shape)} "
            f"and {list(other._array.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


def cov(input: Tensor, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """Rows are variables, columns observations, which may be weighted by counts and by importance."""
    if input._array.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions, but got {input._array.ndim}")
    rows = input.reshape(1, -1) if input._array.ndim < 2 else input
    rows = floating(rows)
    kind, n = rows._array.dtype, rows._array.shape[-1]
    weights: Any = Tensor(np.ones(n, kind))
    for word, given, kinds in (("fweights", fweights, "iu"), ("aweights", aweights, "f")):
        if given is None:
            continue
        w = given._array
        if w.ndim > 1 or w.size != n:
            raise RuntimeError(f"cov(): expected {word} to have one weight for each of {n} observations")
        if w.dtype.kind not in kinds:
            raise RuntimeError(
                f"cov(): expected {word} to have {'integral' if kinds == 'iu' else 'floating point'} dtype"
            )
        if (w < 0).any():
            raise RuntimeError(f"cov(): {word} cannot be negative")
        weights = weights * cast(given.reshape(-1), kind)
    total = weights.sum()
    x = rows - (rows * weights).sum(-1, keepdim=True) / total if n else rows
    freedom = total - correction
    if aweights is not None:
        freedom = total - correction * (weights * aweights.reshape(-1)).sum() / total
    with quiet(all="ignore"):
        out = (x * weights) @ transpose(x, 0, 1) / freedom.clamp(min=0)
    return out.squeeze()


def corrcoef(input: Tensor) -> Tensor:
    if input._array.ndim > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions, but got {input._array.ndim}")
    c = cov(input)
    if not c._array.ndim:
        return c / c
    spread = c.diagonal().sqrt()
    return (c / spread.unsqueeze(1) / spread.unsqueeze(0)).clamp(-1, 1)


def _each(input: Any, rest: tuple, change: Any) -> Any:
    """One tensor, several, or a sequence of them."""
    if isinstance(input, Tensor) and not rest:
        return change(input)
    return tuple(change(t) for t in (input if isinstance(input, (list, tuple)) else (input, *rest)))


def atleast_1d(input: Any, *rest: Tensor) -> Any:
    return _each(input, rest, lambda t: at_least(t, 1))


def atleast_2d(input: Any, *rest: Tensor) -> Any:
    return _each(input, rest, lambda t: at_least(t, 2))


def atleast_3d(input: Any, *rest: Tensor) -> Any:
    return _each(input, rest, lambda t: unsqueeze(at_least(t, 2), 2) if t._array.ndim < 3 else t)


def dstack(tensors: Any) -> Tensor:
    if not tensors:
        raise RuntimeError("dstack expects a non-empty TensorList")
    return cat([atleast_3d(t) for t in tensors], 2)


def _corners(row: int, col: int, offset: int, make: Any, dtype: Any) -> Tensor:
    from ..dtypes import to_numpy

    if row < 0 or col < 0:
        raise RuntimeError(f"row and col must be non-negative, got {row} and {col}")
    return Tensor(np.stack(make(row, offset, col)).astype(np.int64 if dtype is None else to_numpy(dtype)))


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    return _corners(row, col, offset, np.tril_indices, dtype)


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    return _corners(row, col, offset, np.triu_indices, dtype)


def index_put_(self: Tensor, indices: tuple, values: Tensor, accumulate: bool = False) -> Tensor:
    if accumulate:
        add = Tensor(np.zeros_like(self._array))
        places = np.zeros(self._array.shape, np.int64)
        places.reshape(-1)[:] = np.arange(places.size)
        at = places[tuple(i._array if isinstance(i, Tensor) else i for i in indices)]
        flat = add.reshape(-1).index_add(0, Tensor(at.reshape(-1)), values.expand(at.shape).reshape(-1))
        return self.add_(flat.reshape(self._array.shape))
    setitem(self, tuple(indices), values)
    return self


def index_put(input: Tensor, indices: tuple, values: Tensor, accumulate: bool = False) -> Tensor:
    return index_put_(input.clone(), indices, values, accumulate)


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    n = Tensor(np.arange(min(self._array.shape)))
    setitem(self, (n,) * self._array.ndim, fill_value)
    return self


METHODS = attach(
    aminmax, logaddexp, logaddexp2, hypot, logit, xlogy, nanmean, diff, quantile, nanquantile, inner, cov, corrcoef,
    index_put,
)  # fmt: skip
FUNCTIONS = named(cdist, atleast_1d, atleast_2d, atleast_3d, dstack, tril_indices, triu_indices)
attach(index_put_, fill_diagonal_)
