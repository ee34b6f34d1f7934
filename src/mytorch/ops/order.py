"""Sorting, the largest elements, distinct and counted values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import return_types
from ..autograd import record
from ..naming import attach, named, numpy_names
from ..tensor import Tensor
from .reduce import axis_of


def taken_at(input: Tensor, order: np.ndarray, axis: int) -> tuple[Tensor, Tensor]:
    """The elements at `order` along an axis, with their gradient put back there; and `order`."""
    shape = input._array.shape

    def taken_backward(g: np.ndarray) -> tuple:
        full = np.zeros(shape, g.dtype)
        np.put_along_axis(full, order, g, axis)
        return (full,)

    def taken(a: np.ndarray) -> np.ndarray:
        return np.take_along_axis(a, order, axis)

    return record(taken(input._array), (input,), taken_backward, forward=taken), Tensor(order)


def _order(a: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(a, axis, kind="stable")
    # stable in descending order: sort the mirror image, then mirror back, so that equals keep their order
    n = a.shape[axis]
    return np.flip(n - 1 - np.argsort(np.flip(a, axis), axis, kind="stable"), axis)


@numpy_names
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    a = input._array
    axis = axis_of(dim, a.ndim)
    if not a.ndim:
        return return_types.sort(input.clone(), Tensor(np.zeros((), np.int64)))
    return return_types.sort(*taken_at(input, np.ascontiguousarray(_order(a, axis, descending)), axis))


@numpy_names
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    return sort(input.detach(), dim, descending)[1]


@numpy_names
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    a = input._array
    axis = axis_of(dim, a.ndim)
    if k < 0 or k > (a.shape[axis] if a.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if not a.ndim:
        return return_types.topk(input.clone(), Tensor(np.zeros((), np.int64)))
    order = _order(a, axis, largest).take(np.arange(k), axis)
    return return_types.topk(*taken_at(input, order, axis))


@numpy_names
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    axis = axis_of(dim, input._array.ndim)
    n = input._array.shape[axis] if input._array.ndim else 1
    if not n:
        raise IndexError(f"kthvalue(): Expected reduction dim {axis} to have non-zero size.")
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}: k={k}, size {n}")
    values, indices = sort(input, dim)
    if not input._array.ndim:
        return return_types.kthvalue(values, indices)
    at = (slice(None),) * axis + (slice(k - 1, k) if keepdim else k - 1,)
    return return_types.kthvalue(values[at], indices[at])


@numpy_names
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent value along a dim (the smallest one in a tie) and its last index."""
    a = input._array
    axis = axis_of(dim, a.ndim)
    if not a.ndim:
        return return_types.mode(input.clone(), Tensor(np.zeros((), np.int64)))
    if not a.shape[axis]:
        raise IndexError(f"mode(): Expected reduction dim {axis} to have non-zero size.")
    rows = np.moveaxis(a, axis, -1)
    order = np.argsort(rows, -1, kind="stable")
    ordered = np.take_along_axis(rows, order, -1)
    run = np.zeros(ordered.shape, np.int64)  # how many equals lie before
    for i in range(1, ordered.shape[-1]):
        run[..., i] = np.where(ordered[..., i] == ordered[..., i - 1], run[..., i - 1] + 1, 0)
    at = np.take_along_axis(order, run.argmax(-1)[..., None], -1)
    values, indices = taken_at(input, np.moveaxis(at, -1, axis), axis)
    return return_types.mode(*(t if keepdim else t.squeeze(axis) for t in (values, indices)))


def msort(input: Tensor) -> Tensor:
    return sort(input, 0)[0]


def _running(input: Tensor, dim: int, better: Any) -> tuple[Tensor, Tensor]:
    """The running maximum or minimum along a dim, and its index (the last of equals; nan stays)."""
    a = input._array
    axis = axis_of(dim, a.ndim)
    if not a.ndim:
        return input.clone(), Tensor(np.zeros((), np.int64))
    rows = np.moveaxis(a, axis, -1)
    at = np.zeros(rows.shape, np.int64)
    if rows.size:
        best, place = rows[..., 0], np.zeros(rows.shape[:-1], np.int64)
        for i in range(1, rows.shape[-1]):
            new = rows[..., i]
            take = better(new, best)
            if a.dtype.kind == "f":
                take = np.isnan(new) | (take & ~np.isnan(best))
            best, place = np.where(take, new, best), np.where(take, i, place)
            at[..., i] = place
    order = np.ascontiguousarray(np.moveaxis(at, -1, axis))
    return input.gather(axis, Tensor(order)), Tensor(order)


def cummax(input: Tensor, dim: int) -> Any:
    return return_types.cummax(*_running(input, dim, np.greater_equal))


def cummin(input: Tensor, dim: int) -> Any:
    return return_types.cummin(*_running(input, dim, np.less_equal))


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Any = None,
) -> Any:
    a = input._array
    if dim is not None and not a.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if dim is not None and 0 in a.shape and not (a.shape[dim] == 0 and a.size == 0 and a.shape.count(0) == 1):
        raise RuntimeError(f"unique(): there are 0 sized dimensions in {list(a.shape)}, so unique cannot be applied")
    values, inverse, counts = np.unique(a, return_inverse=True, return_counts=True, axis=dim)
    shape = a.shape if dim is None else (a.shape[dim],)
    return _found(values, inverse.reshape(shape), counts, return_inverse, return_counts)


def _found(values: np.ndarray, inverse: np.ndarray, counts: np.ndarray, wants_inverse: bool, wants_counts: bool) -> Any:
    out = [Tensor(values)]
    if wants_inverse:
        out.append(Tensor(inverse.astype(np.int64)))
    if wants_counts:
        out.append(Tensor(counts.astype(np.int64)))
    return out[0] if len(out) == 1 else tuple(out)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of each run of equal elements (or slices along dim)."""
    a = input._array
    rows = a.reshape(-1) if dim is None else np.moveaxis(a, axis_of(dim, a.ndim), 0)
    if not len(rows):
        starts = np.zeros(0, np.bool_)
    else:
        changed = rows[1:] != rows[:-1]
        starts = np.r_[True, changed.any(tuple(range(1, rows.ndim))) if rows.ndim > 1 else changed]
    inverse = np.cumsum(starts) - 1
    values = rows[starts]
    values = values if dim is None else np.moveaxis(values, 0, axis_of(dim, a.ndim))
    counts = np.bincount(inverse, minlength=0) if len(rows) else np.zeros(0, np.int64)
    shape = a.shape if dim is None else inverse.shape
    return _found(np.ascontiguousarray(values), inverse.reshape(shape), counts, return_inverse, return_counts)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    a = input._array
    if a.ndim != 1 or a.dtype.kind not in "iu" or (a < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, but got {minlength}")
    if weights is not None and weights._array.shape != a.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    counted = np.bincount(a, None if weights is None else weights._array, minlength)
    return Tensor(counted if weights is None or weights._array.dtype != np.float32 else counted.astype(np.float32))


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    a = input._array
    if bins <= 0:
        raise RuntimeError(f"torch.histc(): bins must be > 0, but got {bins}")
    if max < min:
        raise RuntimeError(f"torch.histc(): max must be larger than min, but got {min} and {max}")
    low, high = (float(a.min()), float(a.max())) if min == max and a.size else (float(min), float(max))
    if not np.isfinite([low, high]).all():
        raise RuntimeError(f"torch.histc(): range of [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 1, high + 1
    return Tensor(np.histogram(a, bins, (low, high))[0].astype(a.dtype))


def histogram(
    input: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    a = input._array
    edges: Any = bins._array if isinstance(bins, Tensor) else int(bins)
    if isinstance(edges, int):
        low, high = range if range is not None else (a.min(), a.max()) if a.size else (0, 1)
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        edges = np.linspace(float(low), float(high), edges + 1, dtype=a.dtype)
    counts, edges = np.histogram(a, edges, weights=None if weight is None else weight._array, density=density)
    return return_types.histogram(Tensor(counts.astype(a.dtype)), Tensor(np.asarray(edges, a.dtype)))


def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where the input would have to be inserted into the sorted last dim (each row of it has its own row of values)."""
    a = sorted_sequence._array
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    where = input._array if isinstance(input, Tensor) else np.asarray(input)
    if isinstance(input, Tensor) and input._array.dtype != a.dtype and where.ndim:
        raise RuntimeError(
            f"torch.searchsorted(): boundary tensor and input value tensor should have same dtype, but got boundary "
            f"tensor dtype {sorted_sequence.dtype} and input value tensor dtype {input.dtype}"
        )
    if a.ndim > 1 and (where.ndim != a.ndim or where.shape[:-1] != a.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(a.shape)} and input value "
            f"tensor {list(where.shape)}"
        )
    if sorter is not None:
        if sorter._array.shape != a.shape:
            raise RuntimeError("torch.searchsorted(): boundary and sorter must have the same size")
        if sorter._array.dtype != np.int64:
            raise RuntimeError(f"torch.searchsorted(): sorter must be a tensor of long dtype but got {sorter.dtype}")
        a = np.take_along_axis(a, sorter._array, -1)
    end: Any = "right" if right or side == "right" else "left"
    if a.ndim <= 1:
        places = np.searchsorted(a.reshape(-1), where, end)
    else:
        rows = zip(a.reshape(-1, a.shape[-1]), where.reshape(-1, where.shape[-1])) if where.size else ()
        places = np.array([np.searchsorted(row, value, end) for row, value in rows]).reshape(where.shape)
    return Tensor(np.asarray(places, np.int32 if out_int32 else np.int64))


def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    if boundaries._array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries._array.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


METHODS = attach(
    sort, argsort, topk, kthvalue, mode, msort, cummax, cummin, unique, unique_consecutive, bincount, histc, histogram,
)  # fmt: skip
FUNCTIONS = named(searchsorted, bucketize)
