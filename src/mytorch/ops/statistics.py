"""Variance, norms, products and other summaries, built on the plain reductions or with a gradient of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record
from ..dtypes import INT64, to_numpy
from ..naming import attach, named, numpy_names
from ..tensor import Tensor
from .broadcast import cast, quiet
from .reduce import Extreme, axes_of, axis_of, spread


def _correction(unbiased: Any, correction: Any) -> float:
    if correction is not None:
        return float(correction)
    return 1.0 if unbiased is None or unbiased else 0.0


@numpy_names
def var(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    if isinstance(dim, bool):  # var(unbiased)
        dim, unbiased = None, dim
    a = input._array
    shape, axes = a.shape, axes_of(dim, a.ndim)
    axis = axes if shape else None
    with quiet(all="ignore"):
        centred = a - a.mean(axis, keepdims=True)
        total = np.asarray((centred * centred).sum(axis, keepdims=keepdim))
        n = a.size // (total.size or 1) - _correction(unbiased, correction)
        # as in torch, no degrees of freedom give nan (and a gradient of nan)
        scale = a.dtype.type(1) / a.dtype.type(n if n > 0 else 0)
        out = total * scale
    return record(out, (input,), lambda g: (centred * spread(g * (2 * scale), shape, axes, keepdim),))


@numpy_names
def std(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    variance = var(input, dim, unbiased, keepdim, correction=correction)
    out = np.sqrt(variance._array)

    def std_backward(g: np.ndarray) -> tuple:
        # the slope at a deviation of 0 is infinite; torch takes 0
        return (np.where(out == 0, 0, g / (2 * np.where(out == 0, 1, out))).astype(g.dtype),)

    return record(out, (variance,), std_backward, saves_output=True)


def var_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    return var(input, dim, unbiased, keepdim, correction=correction), input.mean(dim, keepdim)


def std_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    return std(input, dim, unbiased, keepdim, correction=correction), input.mean(dim, keepdim)


@numpy_names
def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The p-norm of the elements (2 by default): 0, 1, 2, any number or infinity."""
    if dtype is not None:
        input = cast(input, to_numpy(dtype))
    a = input._array
    if a.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype}"
        )
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
        full = (np.max if p > 0 else np.min)(np.abs(a), axis, keepdims=True)
    else:
        full = (np.abs(a) ** p).sum(axis, keepdims=True) ** (1 / p)
    full = np.asarray(full)
    out = full if keepdim else full.reshape([n for i, n in enumerate(shape) if axes is not None and i not in axes])

    def norm_backward(g: np.ndarray) -> tuple:
        g = spread(g, shape, axes, keepdim)
        safe = np.where(full == 0, 1, full)  # the gradient at 0 is 0
        if p == 2.0:
            return (g * (a / safe),)
        if p == 1.0:
            return (g * np.sign(a),)
        if p == 0.0:
            return (np.zeros(shape, g.dtype),)
        if np.isinf(p):
            hit = np.abs(a) == full
            return ((g * np.sign(a) * hit / hit.sum(axis, keepdims=True)).astype(a.dtype),)
        slope = np.sign(a) * (np.abs(a) / safe) ** (p - 1)
        return (np.asarray(g * np.where(full == 0, 0, slope), a.dtype),)

    return record(out, (input,), norm_backward, (input,))


@numpy_names
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) with the maximum taken out first, so that nothing overflows."""
    a = input._array
    shape, axes = a.shape, axes_of(dim, a.ndim)
    axis = axes if shape else None
    with quiet(all="ignore"):
        top = a.max(axis, keepdims=True)
        top = np.where(np.isfinite(top), top, 0)
        full = np.asarray(np.log(np.exp(a - top).sum(axis, keepdims=True)) + top)
    out = full if keepdim else full.reshape([n for i, n in enumerate(shape) if axes is not None and i not in axes])
    return record(
        out,
        (input,),
        lambda g: (spread(g, shape, axes, keepdim) * np.exp(a - full),),
        (input,),
        saves_output=True,
    )


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

    def prod_backward(g: np.ndarray) -> tuple:
        whole = a.reshape(1, -1) if axis is None else np.moveaxis(a, axes[0], -1)  # type: ignore[index]
        # the product of all others, from the left and from the right: right also where elements are 0
        one = np.ones_like(whole[..., :1])
        left = np.concatenate([one, np.cumprod(whole, -1)[..., :-1]], -1)
        right = np.concatenate([one, np.cumprod(whole[..., ::-1], -1)[..., :-1]], -1)[..., ::-1]
        others = (left * right).reshape(shape) if axis is None else np.moveaxis(left * right, -1, axes[0])  # type: ignore[index]
        return (spread(g, shape, axes, keepdim) * others,)

    return record(out, (input,), prod_backward, (input,))


@numpy_names
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    if dtype is not None:
        input = cast(input, to_numpy(dtype))
    a = input._array
    if not a.ndim:
        return input.clone()
    axis = axis_of(dim, a.ndim)
    out = np.cumsum(a, axis, dtype=INT64 if a.dtype.kind in "iub" else None)
    return record(out, (input,), lambda g: (np.flip(np.cumsum(np.flip(g, axis), axis), axis),))


@numpy_names
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    if dtype is not None:
        input = cast(input, to_numpy(dtype))
    a = input._array
    axis = axis_of(dim, a.ndim)
    out = np.cumprod(a, axis, dtype=INT64 if a.dtype.kind in "iub" else None)

    def cumprod_backward(g: np.ndarray) -> tuple:
        if (a == 0).any():
            raise NotImplementedError("mytorch's cumprod has no gradient where elements are 0")
        return (np.flip(np.cumsum(np.flip(g * out, axis), axis), axis) / a,)

    return record(out, (input,), cumprod_backward, (input,), saves_output=True)


def _at(input: Tensor, dim: int | None, keepdim: bool, function: Any) -> Tensor:
    a = input._array
    if dim is None and not a.size:
        raise IndexError(f"{function.__name__}(): Expected reduction dim to be specified for input.numel() == 0.")
    if dim is None:
        return Tensor(np.asarray(function(a), np.int64).reshape((1,) * a.ndim if keepdim else ()))
    if not a.ndim:
        return Tensor(np.zeros((), np.int64))
    if a.shape[axis_of(dim, a.ndim)] == 0:
        raise IndexError(f"{function.__name__}(): Expected reduction dim {dim} to have non-zero size.")
    return Tensor(np.asarray(function(a, axis_of(dim, a.ndim), keepdims=keepdim)))


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
    full = np.asarray(function(a, axis, keepdims=True))
    out = full if keepdim else full.reshape([n for i, n in enumerate(shape) if axes is not None and i not in axes])

    def amost_backward(g: np.ndarray) -> tuple:
        hit = a == full
        return ((spread(g, shape, axes, keepdim) * hit / hit.sum(axis, keepdims=True)).astype(a.dtype),)

    return record(out, (input,), amost_backward, (input,))


@numpy_names
def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    return _amost(input, dim, keepdim, np.max)


@numpy_names
def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    return _amost(input, dim, keepdim, np.min)


@numpy_names
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the two middle elements, as in torch."""
    from .order import sort

    if dim is None:
        return sort(input.reshape(-1))[0][(input._array.size - 1) // 2]
    values, indices = sort(input, dim, stable=True)
    n = input._array.shape[axis_of(dim, input._array.ndim)]
    take = (slice(None),) * axis_of(dim, input._array.ndim)
    middle = slice((n - 1) // 2, (n - 1) // 2 + 1) if keepdim else (n - 1) // 2
    return Extreme(values[(*take, middle)], indices[(*take, middle)])


@numpy_names
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    return Tensor(np.asarray(np.count_nonzero(input._array, axes_of(dim, input._array.ndim)), np.int64))


def nansum(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return input.masked_fill(input.isnan(), 0).sum(dim, keepdim)


METHODS = attach(
    var, std, norm, logsumexp, prod, cumsum, cumprod, argmax, argmin, amax, amin, median, count_nonzero,
    nansum,
)  # fmt: skip
FUNCTIONS = named(var_mean, std_mean)
