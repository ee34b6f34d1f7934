"""Elements read from the places that an index tensor names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record
from ..naming import attach, numpy_names
from ..tensor import Tensor
from .broadcast import mismatch
from .index import getitem
from .reduce import axis_of


def _places(index: np.ndarray, axis: int) -> tuple:
    """The full NumPy index of torch's gather rule: each element's own position, but `index` along the axis."""
    grid = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    grid[axis] = index
    return tuple(grid)


def _checked(index: Tensor, input: Tensor, axis: int, name: str) -> np.ndarray:
    at, a = index._array, input._array
    if at.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, but got {index.dtype}")
    if at.ndim != a.ndim and a.ndim + at.ndim > 1 and at.size and max(at.ndim, a.ndim) > 1:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    n = a.shape[axis] if a.ndim else 1
    if at.size and not (at.min() >= 0 and at.max() < n):
        bad = int(at.max() if at.max() >= n else at.min())
        raise RuntimeError(f"index {bad} is out of bounds for dimension {axis} with size {n}")
    return at


def _within(small: tuple, large: tuple, axis: int | None, name: str) -> None:
    """Torch's rule: the index may not be larger than the other tensor, except along the axis."""
    for i, (n, m) in enumerate(zip(small, large)):
        if n > m and i != axis:
            raise RuntimeError(
                f"Size does not match at dimension {i} expected index {list(small)} to be no larger than self "
                f"{list(large)} apart from dimension {axis} ({name})"
            )


@numpy_names
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    a = input._array
    axis = axis_of(dim, a.ndim)
    at = _checked(index, input, axis, "gather")
    if not at.ndim or not a.ndim:  # a number counts as one place
        return gather(input.reshape(-1), 0, index.reshape(-1)).reshape(index._array.shape)
    if not at.size:
        return input.reshape(-1)[:0].reshape(at.shape)
    _within(at.shape, a.shape, axis, "gather")
    places = _places(at, axis)

    shape = a.shape

    def gather_backward(g: np.ndarray, *_: np.ndarray) -> tuple:
        full = np.zeros(shape, g.dtype)
        np.add.at(full, places, g)
        return (full,)

    return record(a[places], (input,), gather_backward, (index,), forward=lambda x: x[places])


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """gather with input and indices broadcast to each other in the other dims."""
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    a, at = input._array, indices._array
    if at.dtype != np.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype}")
    if a.ndim != at.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{a.ndim} dimensions for input, and {at.ndim} dimensions for indices"
        )
    axis = axis_of(dim, a.ndim)
    try:
        shape = list(np.broadcast_shapes(*[(*s[:axis], 1, *s[axis + 1 :]) for s in (a.shape, at.shape)]))
    except ValueError:
        raise mismatch(a.shape, at.shape) from None
    wide = [[*shape[:axis], s[axis], *shape[axis + 1 :]] for s in (a.shape, at.shape)]
    places = Tensor(
        np.where(at < 0, at + a.shape[axis], at)
    )  # here, unlike in gather, negative ones count from the end
    return gather(input.expand(wide[0]), dim, places.expand(wide[1]))


@numpy_names
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    if index._array.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index._array.dtype.kind not in "iu":
        raise RuntimeError(f"index_select(): Expected dtype int32 or int64 for index, but got {index.dtype}")
    axis = axis_of(dim, input._array.ndim)
    if not input._array.ndim:
        return index_select(input.reshape(1), 0, index).reshape(())
    n = input._array.shape[axis]
    at = index._array
    if at.size and not (at.min() >= 0 and at.max() < n):
        kind = IndexError if input._array.size or input._array.ndim == 1 else RuntimeError
        raise kind(f"index out of range in self: indices must be in [0, {n - 1}]")
    return getitem(input, (*(slice(None),) * axis, index.reshape(-1)))


def take(input: Tensor, index: Tensor) -> Tensor:
    if index._array.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype}")
    flat = input.reshape(-1)
    if not flat._array.size and index._array.size:
        raise IndexError("take(): tried to take from an empty tensor")
    return getitem(flat, index) if index._array.ndim else flat[int(index)].clone()


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    if mask._array.dtype != np.bool_:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, but got {mask.dtype}")
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    return getitem(input.expand(shape), mask.expand(shape))


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    a = input._array
    if as_tuple:
        return tuple(Tensor(i) for i in np.nonzero(np.atleast_1d(a)))
    return Tensor(np.stack(np.nonzero(a), 1) if a.ndim else np.zeros((int(bool(a)), 0), np.int64))


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of nonzero(), padded with fill_value."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, but got {size}")
    rows = nonzero(input)._array[:size]
    out = np.full((size, input._array.ndim), fill_value, np.int64)
    out[: len(rows)] = rows
    return Tensor(out)


def argwhere(input: Tensor) -> Tensor:
    return nonzero(input)


METHODS = attach(gather, take_along_dim, index_select, take, masked_select, nonzero, nonzero_static, argwhere)
