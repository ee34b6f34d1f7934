"""Elements that are scattered to one place are reduced to one: sums, products, means and extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record
from ..naming import attach
from ..tensor import Tensor
from . import inplace
from .gather import _checked, _places, gather
from .reduce import axis_of
from .scatter import _check_source, _check_vector, scatter_add

_REDUCTIONS = {"sum": "sum", "prod": "prod", "mean": "mean", "amax": "amax", "amin": "amin"}


def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """All elements of src that share a place (and input's own, if include_self) reduced to one."""
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    a = input._array
    axis = axis_of(dim, a.ndim)
    if a.dtype != src._array.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not a.ndim or not index._array.ndim:
        flat = scatter_reduce(
            input.reshape(-1), 0, index.reshape(-1), src.reshape(-1), reduce, include_self=include_self
        )
        return flat.reshape(a.shape)
    at = _checked(index, input, axis, "scatter_reduce")
    _check_source(at, src._array, a, axis, "scatter_reduce")
    if not at.size:
        return input.clone()
    hit = np.zeros(a.shape, np.int64)
    np.add.at(hit, _places(at, axis), 1)
    base = input
    if not include_self and reduce != "mean":  # what is written over starts from the neutral element
        neutral = {"sum": 0, "prod": 1, "amax": -np.inf, "amin": np.inf}[reduce]
        if a.dtype.kind in "iu" and reduce in ("amax", "amin"):
            neutral = np.iinfo(a.dtype).min if reduce == "amax" else np.iinfo(a.dtype).max
        base = input.masked_fill(Tensor(hit > 0), neutral)
    used = src[tuple(slice(n) for n in at.shape)]
    if reduce == "sum":
        return scatter_add(base, dim, index, used)
    if reduce == "mean":
        start = input if include_self else input.masked_fill(Tensor(hit > 0), 0)
        count = np.maximum(hit + int(include_self), 1)
        total = scatter_add(start, dim, index, used)
        if a.dtype.kind in "iu":
            return Tensor(np.floor_divide(total._array, count).astype(a.dtype))
        return total / Tensor(count.astype(a.dtype))
    if reduce == "prod":
        return _scatter_prod(base, dim, index, used, include_self)
    return _scatter_extreme(base, axis, at, used, np.maximum if reduce == "amax" else np.minimum)


def _scatter_prod(input: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    a, axis = input._array, axis_of(dim, input._array.ndim)
    places = _places(index._array, axis)
    out = a.copy()
    np.multiply.at(out, places, src._array)

    def scatter_prod_backward(g: np.ndarray, a: np.ndarray, b: np.ndarray, y: np.ndarray) -> tuple:
        if (a == 0).any() or (b == 0).any():
            return _prod_with_zeros(g, a, b, places)
        return g * y / a, (g * y)[places] / b

    def scatter_prod_again(g: Tensor, a: Tensor, b: Tensor, y: Tensor) -> tuple:
        return g * y / a, gather(g * y, axis, index) / b

    return record(out, (input, src), scatter_prod_backward, (input, src), True, again=scatter_prod_again)


def _prod_with_zeros(g: np.ndarray, a: np.ndarray, b: np.ndarray, places: tuple) -> tuple:
    """For each element the product of the others at its place, without dividing by 0: zeros are counted separately."""
    zeros = (a == 0).astype(np.int64)
    np.add.at(zeros, places, b == 0)
    rest = np.where(a == 0, 1, a)
    np.multiply.at(rest, places, np.where(b == 0, 1, b))

    def others(value: np.ndarray, product: np.ndarray, count: np.ndarray) -> np.ndarray:
        without = count - (value == 0)
        return np.where(without > 0, 0, product / np.where(value == 0, 1, value))

    return g * others(a, rest, zeros), g[places] * others(b, rest[places], zeros[places])


def _scatter_extreme(input: Tensor, axis: int, at: np.ndarray, src: Tensor, function: Any) -> Tensor:
    """The gradient is shared equally by all elements that are the extreme."""
    a, places = input._array, _places(at, axis)
    out = a.copy()
    function.at(out, places, src._array)
    own, from_source = (a == out), src._array == out[places]
    count = own.astype(a.dtype)
    np.add.at(count, places, from_source)
    share, part = own / np.maximum(count, 1), from_source / np.maximum(count, 1)[places]
    share, part = share.astype(a.dtype), part.astype(a.dtype)
    index = Tensor(at)
    return record(
        out,
        (input, src),
        lambda g: (g * share, g[places] * part),
        again=lambda g: (g * Tensor(share), gather(g, axis, index) * Tensor(part)),
    )


def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """scatter_reduce of whole rows along dim."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    _check_vector(index, input, dim, "index_reduce", source)
    a = input._array
    axis = axis_of(dim, a.ndim)
    if not a.ndim:
        flat = index_reduce(
            input.reshape(1), 0, index.reshape(-1), source.reshape(-1), reduce, include_self=include_self
        )
        return flat.reshape(())
    column = index._array.reshape((1,) * axis + (-1,) + (1,) * (a.ndim - axis - 1))
    places = Tensor(np.ascontiguousarray(np.broadcast_to(column, source._array.shape)))
    return scatter_reduce(input, dim, places, source, reduce, include_self=include_self)


METHODS = attach(scatter_reduce, index_reduce)
attach(**{name + "_": inplace.inplace(function) for name, function in METHODS.items()})
