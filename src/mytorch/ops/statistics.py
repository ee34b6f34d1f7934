"""Variance, norms, products and other summaries, built on the plain reductions or with a backward of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import return_types
from ..autograd import linear, record
from ..dtypes import INT64, to_numpy
from ..naming import attach, named, numpy_names
from ..tensor import Tensor
from . import either
from .broadcast import cast, floating, quiet
from .pointwise import where
from .reduce import axes_of, axis_of, spread


def _correction(unbiased: Any, correction: Any) -> float:
    if correction is not None:
        return float(correction)
    return 1.0 if unbiased is None or unbiased else 0.0


@numpy_names
def var(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    dim, unbiased = _dim_or_flag(dim, unbiased)
    a = input._array
    if a.dtype.kind != "f":
        raise RuntimeError(f"std and var only support floating point dtypes, but got {input.dtype}: convert to float")
    shape, axes = a.shape, axes_of(dim, a.ndim)
    axis = axes if shape else None
    with quiet(all="ignore"):
        centred = a - a.mean(axis, keepdims=True)
        total = np.asarray((centred * centred).sum(axis, keepdims=keepdim))
        n = a.size // (total.size or 1) - _correction(unbiased, correction)
        # as in torch, no degrees of freedom give nan (and a gradient of nan)
        scale = a.dtype.type(1) / a.dtype.type(n if n > 0 else 0)
        out = total * scale

    def var_backward(g: np.ndarray, x: np.ndarray) -> tuple:
        away = x - x.mean(axis=axis, keepdims=True)
        return (away * spread(g * (2 * float(scale)), shape, axes, keepdim),)

    return record(out, (input,), var_backward, (input,), again=True)


def _dim_or_flag(dim: Any, unbiased: Any) -> tuple[Any, Any]:
    """var(x, True) is var(x, unbiased=True)."""
    return (None, dim) if isinstance(dim, bool) else (dim, unbiased)


@numpy_names
def std(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    variance = var(input, dim, unbiased, keepdim, correction=correction)

    def std_backward(g: np.ndarray, y: np.ndarray) -> tuple:
        flat = either.values(y) == 0  # the slope at a deviation of 0 is infinite; torch takes 0
        return (either.where(flat, 0.0, g / (2 * either.where(flat, 1.0, y))),)

    return record(np.sqrt(variance._array), (variance,), std_backward, saves_output=True, again=True)


@numpy_names
def var_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    dim, unbiased = _dim_or_flag(dim, unbiased)
    return var(input, dim, unbiased, keepdim, correction=correction), input.mean(dim, keepdim)


@numpy_names
def std_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    dim, unbiased = _dim_or_flag(dim, unbiased)
    return std(input, dim, unbiased, keepdim, correction=correction), input.mean(dim, keepdim)


def without_axes(full: np.ndarray, axes: tuple[int, ...] | None) -> np.ndarray:
    """A result without its reduced dims, which have size 1."""
    return full.reshape([n for i, n in enumerate(full.shape) if axes is not None and i not in axes])


@numpy_names
def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The p-norm of the elements (2 by default): 0, 1, 2, any number or infinity."""
    if dtype is not None:
        input = cast(input, to_numpy(dtype))
    if input._array.dtype.kind == "c":
        input = input.abs()
    a = input._array
    if a.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype}"
        )
    if p == "nuc":
        from ..linalg import matrix_norm

        return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)
    shape, axes = a.shape, axes_of(dim, a.ndim)
    axis = axes if shape else None
    p = 2.0 if p in (None, "fro") else float(p)
    if p == 2.0:
        full = np.sqrt((a * a).sum(axis, keepdims=True))
    elif p == 1.0:
        full = np.abs(a).sum(axis, keepdims=True)
    elif p == 0.0:
        full = np.count_nonzero(a, axis, keepdims=True).astype(a.dtype)
    elif np.isinf(p):
        if not np.prod([shape[i] for i in axes] if axes is not None and shape else shape):
            raise RuntimeError(f"linalg.vector_norm cannot compute the {p} norm on an empty dimension")
        full = (np.max if p > 0 else np.min)(np.abs(a), axis, keepdims=True)
    else:
        with quiet(all="ignore"):
            full = (np.abs(a) ** p).sum(axis, keepdims=True) ** (1 / p)
    full = np.asarray(full)
    out = full if keepdim else without_axes(full, axes)

    def norm_backward(g: np.ndarray, a: np.ndarray, y: np.ndarray) -> tuple:
        y = y if keepdim else y.reshape(full_shape)
        zero = either.values(y) == 0  # the gradient at 0 is 0
        g, safe = spread(g, shape, axes, keepdim), either.where(zero, 1.0, y)
        if p == 2.0:
            return (g * (a / safe),)
        if p == 1.0:
            return (g * either.sign(a),)
        if p == 0.0:
            return (g * 0,)
        if np.isinf(p):
            hit = np.abs(either.values(a)) == either.values(y)
            share = hit / hit.sum(axis, keepdims=True)
            return (g * either.sign(a) * either.like(g, share),)
        size = either.where(either.values(a) == 0, 0.0 if p > 1 else 1.0, either.absolute(a))
        slope = either.sign(a) * (size / safe) ** (p - 1)
        return (g * either.where(np.broadcast_to(zero, shape), 0.0, slope),)

    full_shape = full.shape
    return record(out, (input,), norm_backward, (input,), True, again=True)


@numpy_names
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))), computed after subtracting the maximum, so that nothing overflows."""
    input = floating(input)
    a = input._array
    shape, axes = a.shape, axes_of(dim, a.ndim)
    axis = axes if shape else None
    with quiet(all="ignore"):
        if a.size:
            top = a.max(axis, keepdims=True)
            top = np.where(np.isfinite(top), top, 0)
        else:
            top = np.zeros_like(a.sum(axis, keepdims=True))
        full = np.asarray(np.log(np.exp(a - top).sum(axis, keepdims=True)) + top)
    full_shape = full.shape

    def logsumexp_backward(g: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple:
        return (spread(g, shape, axes, keepdim) * either.exp(x - y.reshape(full_shape)),)

    out = full if keepdim else without_axes(full, axes)
    return record(out, (input,), logsumexp_backward, (input,), True, again=True)


@numpy_names
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    if dim is not None and not isinstance(dim, int):
        raise TypeError(f"prod() received {dim}, but takes one dim: call it once for each")
    if dtype is not None:
        input = cast(input, to_numpy(dtype))
    a = input._array
    shape, axes = a.shape, axes_of(dim, a.ndim)
    axis = axes if shape else None
    out = np.asarray(a.prod(axis, keepdims=keepdim, dtype=INT64 if a.dtype.kind in "iub" else None))

    def prod_backward(g: np.ndarray, a: np.ndarray) -> tuple:
        whole = a.reshape(1, -1) if axis is None else np.moveaxis(a, axes[0], -1)  # type: ignore[index]
        # the product of all others, from the left and from the right: right also where elements are 0
        one = np.ones_like(whole[..., :1])
        left = np.concatenate([one, np.cumprod(whole, -1)[..., :-1]], -1)
        right = np.concatenate([one, np.cumprod(whole[..., ::-1], -1)[..., :-1]], -1)[..., ::-1]
        others = (left * right).reshape(shape) if axis is None else np.moveaxis(left * right, -1, axes[0])  # type: ignore[index]
        return (spread(g, shape, axes, keepdim) * others,)

    def prod_again(g: Tensor, x: Tensor) -> tuple:
        rows = x.reshape(1, -1) if axis is None else x.movedim(axes[0], -1)  # type: ignore[index]
        n = rows._array.shape[-1]
        # each element's others: the row n times, with ones on the diagonal
        square = rows.unsqueeze(-2).expand(*rows._array.shape[:-1], n, n)
        others = prod(where(Tensor(np.eye(n, dtype=np.bool_)), 1.0, square), -1)
        others = others.reshape(shape) if axis is None else others.movedim(-1, axes[0])  # type: ignore[index]
        return (spread(g, shape, axes, keepdim) * others,)

    return record(out, (input,), prod_backward, (input,), again=prod_again)


@numpy_names
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    if dtype is not None:
        input = cast(input, to_numpy(dtype))
    axis = axis_of(dim, input._array.ndim)
    kind = INT64 if input._array.dtype.kind in "iub" else None
    if not input._array.ndim:
        return cast(input, INT64) if kind else input.clone()
    return linear(
        input,
        lambda a: np.cumsum(a, axis, dtype=kind),
        lambda g: np.flip(np.cumsum(np.flip(g, axis), axis), axis),
    )


@numpy_names
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    if dtype is not None:
        input = cast(input, to_numpy(dtype))
    a = input._array
    axis = axis_of(dim, a.ndim)
    kind = INT64 if a.dtype.kind in "iub" else None
    if not a.ndim:
        return cast(input, INT64) if kind else input.clone()
    out = np.cumprod(a, axis, dtype=kind)

    def cumprod_backward(g: np.ndarray, a: np.ndarray, y: np.ndarray) -> tuple:
        if not (a == 0).any():
            return (np.flip(np.cumsum(np.flip(g * y, axis), axis), axis) / a,)
        # element i of the result holds factor k (k <= i) once: the product of its other factors, one k at a time
        grad, n = np.zeros_like(a), a.shape[axis]
        rows, back, into = (np.moveaxis(v, axis, -1) for v in (a, g, grad))
        for k in range(n):
            others = rows.copy()
            others[..., k] = 1
            into[..., k] = (back * np.cumprod(others, -1))[..., k:].sum(-1)
        return (grad,)

    def cumprod_again(g: Tensor, x: Tensor, y: Tensor) -> tuple:
        if not (x._array == 0).any():
            return ((g * y).flip(axis).cumsum(axis).flip(axis) / x,)
        # each factor's others, as in prod_again: row k holds the products without factor k
        rows, back, n = x.movedim(axis, -1), g.movedim(axis, -1), a.shape[axis]
        square = rows.unsqueeze(-2).expand(*rows._array.shape[:-1], n, n)
        others = cumprod(where(Tensor(np.eye(n, dtype=np.bool_)), 1.0, square), -1)
        behind = Tensor(np.triu(np.ones((n, n), a.dtype)))
        return ((back.unsqueeze(-2) * others * behind).sum(-1).movedim(-1, axis),)

    return record(out, (input,), cumprod_backward, (input,), True, again=cumprod_again)


def _at(input: Tensor, dim: int | None, keepdim: bool, function: Any) -> Tensor:
    a = input._array
    if dim is None and not a.size:
        raise IndexError(f"{function.__name__}(): Expected reduction dim to be specified for input.numel() == 0.")
    if dim is None:
        return Tensor(np.asarray(function(a), np.int64).reshape((1,) * a.ndim if keepdim else ()))
    axis = axis_of(dim, a.ndim)
    if not a.ndim:
        return Tensor(np.zeros((), np.int64))
    if a.shape[axis] == 0:
        raise IndexError(f"{function.__name__}(): Expected reduction dim {dim} to have non-zero size.")
    return Tensor(np.asarray(function(a, axis, keepdims=keepdim)))


@numpy_names
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _at(input, dim, keepdim, np.argmax)


@numpy_names
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _at(input, dim, keepdim, np.argmin)


def _amost(input: Tensor, dim: Any, keepdim: bool, function: Any) -> Tensor:
    """amax and amin share the gradient among equals."""
    a = input._array
    shape, axes = a.shape, axes_of(dim, a.ndim)
    axis = axes if shape else None
    reduced = [shape[i] for i in axes] if axes is not None and shape else shape
    if a.size == 0 and 0 in reduced:
        name, kind = f"a{function.__name__}", RuntimeError if axes is None else IndexError
        raise kind(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )
    full = np.asarray(function(a, axis, keepdims=True))
    out = full if keepdim else without_axes(full, axes)

    def amost_backward(g: np.ndarray, a: np.ndarray) -> tuple:
        hit = either.values(a) == full
        return (spread(g, shape, axes, keepdim) * either.like(g, hit / hit.sum(axis, keepdims=True)),)

    return record(out, (input,), amost_backward, (input,), again=True)


@numpy_names
def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    return _amost(input, dim, keepdim, np.max)


@numpy_names
def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    return _amost(input, dim, keepdim, np.min)


def _middle(input: Tensor, dim: int | None, keepdim: bool, skip_nan: bool) -> Any:
    """The lower of the two middle elements; with nan among them nan, unless they are skipped."""
    from .order import taken_at

    a = input._array
    if dim is None:
        if not a.size:
            return Tensor(np.full((), np.nan, a.dtype))
        value = _middle(input.detach().reshape(-1), 0, False, skip_nan)[0]._array

        def median_backward(g: Any, x: Any) -> tuple:
            x = either.values(x)
            hit = (x == value) | ((x != x) & (value != value))
            return (g * either.like(g, hit / hit.sum()),)  # shared among equals

        return record(value, (input,), median_backward, (input,), again=True)
    axis, returned = axis_of(dim, a.ndim), return_types.nanmedian if skip_nan else return_types.median
    if not a.ndim:
        return returned(input.clone(), Tensor(np.zeros((), np.int64)))
    if not a.shape[axis]:
        raise IndexError(f"median(): Expected reduction dim {dim} to have non-zero size.")
    order = np.argsort(a, axis, kind="stable")  # nan comes last
    missing = np.isnan(a).sum(axis, keepdims=True) if a.dtype.kind == "f" else np.zeros((), np.int64)
    n = a.shape[axis]
    counted = n - missing if skip_nan else np.full_like(missing, n)
    at = np.maximum((counted - 1) // 2, 0)
    if not skip_nan:
        at = np.where(missing > 0, n - missing, at)  # the first nan
    at = np.broadcast_to(at, (*a.shape[:axis], 1, *a.shape[axis + 1 :]))
    values, indices = taken_at(input, np.take_along_axis(order, at, axis), axis)
    return returned(values, indices) if keepdim else returned(values.squeeze(axis), indices.squeeze(axis))


@numpy_names
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the two middle elements, as in torch; nan if there is one."""
    return _middle(input, dim, keepdim, skip_nan=False)


@numpy_names
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    return _middle(input, dim, keepdim, skip_nan=True)


@numpy_names
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    axes = axes_of(dim, input._array.ndim)
    return Tensor(np.asarray(np.count_nonzero(input._array, axes if input._array.ndim else None), np.int64))


@numpy_names
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    return input.masked_fill(input.isnan(), 0).sum(dim, keepdim, dtype=dtype)


METHODS = attach(
    var, std, norm, logsumexp, prod, cumsum, cumprod, argmax, argmin, amax, amin, median, nanmedian, count_nonzero,
    nansum,
)  # fmt: skip
FUNCTIONS = named(var_mean, std_mean)
