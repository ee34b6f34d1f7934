"""Sorting, the largest elements, distinct and counted values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..autograd import record
from ..naming import attach, named, numpy_names
from ..tensor import Tensor
from .reduce import axis_of


class Sorted(NamedTuple):
    """The values and the indices they had."""

    values: Tensor
    indices: Tensor


def _taken(input: Tensor, order: np.ndarray, axis: int) -> Sorted:
    """The elements at `order` along an axis, with their gradient put back there."""
    shape = input._array.shape

    def taken_backward(g: np.ndarray) -> tuple:
        full = np.zeros(shape, g.dtype)
        np.put_along_axis(full, order, g, axis)
        return (full,)

    return Sorted(record(np.take_along_axis(input._array, order, axis), (input,), taken_backward), Tensor(order))


def _order(a: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(a, axis, kind="stable")
    # stable in descending order: sort the mirror image, then mirror back, so that equals keep their order
    n = a.shape[axis]
    return np.flip(n - 1 - np.argsort(np.flip(a, axis), axis, kind="stable"), axis)


@numpy_names
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Sorted:
    a = input._array
    if not a.ndim:
        return Sorted(input.clone(), Tensor(np.zeros((), np.int64)))
    axis = axis_of(dim, a.ndim)
    return _taken(input, np.ascontiguousarray(_order(a, axis, descending)), axis)


@numpy_names
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    return sort(input.detach(), dim, descending)[1]


@numpy_names
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Sorted:
    a = input._array
    axis = axis_of(dim, a.ndim)
    if k > (a.shape[axis] if a.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if not a.ndim:
        return Sorted(input.clone(), Tensor(np.zeros((), np.int64)))
    order = _order(a, axis, largest).take(np.arange(k), axis)
    return _taken(input, order, axis)


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Sorted:
    axis = axis_of(dim, input._array.ndim)
    values, indices = sort(input, dim)
    at = (slice(None),) * axis + (slice(k - 1, k) if keepdim else k - 1,)
    return Sorted(values[at], indices[at])


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Any = None,
) -> Any:
    values, inverse, counts = np.unique(input._array, return_inverse=True, return_counts=True, axis=dim)
    shape = input._array.shape if dim is None else (input._array.shape[dim],)
    out = [Tensor(values)]
    if return_inverse:
        out.append(Tensor(inverse.reshape(shape)))
    if return_counts:
        out.append(Tensor(counts))
    return out[0] if len(out) == 1 else tuple(out)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    if input._array.ndim != 1 or input._array.dtype.kind not in "iu" or (input._array < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    counted = np.bincount(input._array, None if weights is None else weights._array, minlength)
    return Tensor(counted if weights is None or weights._array.dtype != np.float32 else counted.astype(np.float32))


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    a = input._array
    low, high = (float(a.min()), float(a.max())) if min == max == 0 else (min, max)
    return Tensor(np.histogram(a, bins, (low, high))[0].astype(a.dtype))


def searchsorted(sorted_sequence: Tensor, values: Any, *, right: bool = False, side: str | None = None) -> Tensor:
    where = values._array if isinstance(values, Tensor) else values
    found = np.searchsorted(sorted_sequence._array, where, "right" if right or side == "right" else "left")
    return Tensor(np.asarray(found, np.int64))


def bucketize(input: Any, boundaries: Tensor, *, right: bool = False) -> Tensor:
    return searchsorted(boundaries, input, right=right)


METHODS = attach(sort, argsort, topk, kthvalue, unique, bincount, histc)
FUNCTIONS = named(searchsorted, bucketize)
