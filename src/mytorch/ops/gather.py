"""Elements taken from and put to places named by an index tensor along one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record
from ..naming import attach
from ..tensor import Tensor
from . import inplace
from .broadcast import cast
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
    if at.ndim != a.ndim and a.ndim and at.size:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    n = a.shape[axis] if a.ndim else 1
    if at.size and not (at.min() >= 0 and at.max() < n):
        bad = int(at.max() if at.max() >= n else at.min())
        raise RuntimeError(f"index {bad} is out of bounds for dimension {axis} with size {n}")
    return at


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    a = input._array
    axis = axis_of(dim, a.ndim)
    at = _checked(index, input, axis, "gather")
    places = _places(at, axis)

    def gather_backward(g: np.ndarray) -> tuple:
        full = np.zeros(a.shape, g.dtype)
        np.add.at(full, places, g)
        return (full,)

    return record(a[places], (input,), gather_backward, (index,))


def take_along_dim(input: Tensor, indices: Tensor, dim: int) -> Tensor:
    return gather(input, dim, indices)


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    axis = axis_of(dim, input._array.ndim)
    n = input._array.shape[axis]
    at = index._array
    if at.size and not (at.min() >= 0 and at.max() < n):
        raise IndexError(f"index out of range in self: indices must be in [0, {n - 1}]")
    return getitem(input, (*(slice(None),) * axis, index))


def take(input: Tensor, index: Tensor) -> Tensor:
    return getitem(input.reshape(-1), index)


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    return getitem(input.expand(shape), mask.expand(shape))


def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None
) -> Tensor:
    """A copy of input with src written to the places of index."""
    if reduce is not None:
        if reduce != "add":
            raise NotImplementedError(f"mytorch's scatter has reduce='add', not {reduce!r}")
        return scatter_add(input, dim, index, src)
    src = value if src is None else src
    a = input._array
    if index._array.ndim == 0 and a.ndim == 1:  # a number counts as one place
        index, src = index.reshape(1), src.reshape(1) if isinstance(src, Tensor) else src
    axis = axis_of(dim, a.ndim)
    at = _checked(index, input, axis, "scatter")
    places = _places(at, axis)
    source = src if isinstance(src, Tensor) else Tensor(np.full(at.shape, src, a.dtype))
    if source._array.dtype != a.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    part = tuple(slice(n) for n in at.shape)
    out, full = a.copy(), source._array.shape
    out[places] = source._array[part]

    def scatter_backward(g: np.ndarray) -> tuple:
        rest = g.copy()
        rest[places] = 0
        to_source = np.zeros(full, g.dtype)
        to_source[part] = g[places]
        return rest, to_source

    return record(out, (input, source), scatter_backward, (index,))


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy of input with src added at the places of index (several at one place all count)."""
    a = input._array
    axis = axis_of(dim, a.ndim)
    at = _checked(index, input, axis, "scatter_add")
    places, part = _places(at, axis), tuple(slice(n) for n in at.shape)
    out, full = a.copy(), src._array.shape
    np.add.at(out, places, src._array[part])

    def scatter_add_backward(g: np.ndarray) -> tuple:
        to_source = np.zeros(full, g.dtype)
        to_source[part] = g[places]
        return g, to_source

    return record(out, (input, src), scatter_add_backward, (index,))


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    a = input._array
    key = (*(slice(None),) * axis_of(dim, a.ndim), index._array)
    out = a.copy()
    np.add.at(out, key, source._array * alpha if alpha != 1 else source._array)
    return record(out, (input, source), lambda g: (g, g[key] * alpha), (index,))


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    return _index_put(input, dim, index, source)


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    value = value if isinstance(value, Tensor) else Tensor(np.asarray(value, input._array.dtype))
    return _index_put(input, dim, index, cast(value, input._array.dtype))


def _index_put(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    a, b = input._array, source._array
    key = (*(slice(None),) * axis_of(dim, a.ndim), index._array)
    out = a.copy()
    out[key] = b

    def index_put_backward(g: np.ndarray) -> tuple:
        rest = g.copy()
        rest[key] = 0
        return rest, g[key].sum() if b.ndim == 0 else g[key]

    return record(out, (input, source), index_put_backward, (index,))


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    m = np.broadcast_to(mask._array, input._array.shape)
    n, shape = np.count_nonzero(m), source._array.shape
    out = input._array.copy()
    out[m] = source._array.reshape(-1)[:n]

    def masked_scatter_backward(g: np.ndarray) -> tuple:
        to_source = np.zeros(source._array.size, g.dtype)
        to_source[:n] = g[m]
        return g * ~m, to_source.reshape(shape)

    return record(out, (input, source), masked_scatter_backward, (mask,))


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    found = np.nonzero(input._array)
    if as_tuple:
        return tuple(Tensor(i) for i in found)
    return Tensor(np.stack(found, 1) if found else np.zeros((1, 0), np.int64))


def argwhere(input: Tensor) -> Tensor:
    return nonzero(input)


METHODS = attach(
    gather, take_along_dim, index_select, take, masked_select, scatter, scatter_add, index_add, index_copy,
    index_fill, masked_scatter, nonzero, argwhere,
)  # fmt: skip
for _function in (scatter, scatter_add, index_add, index_copy, index_fill, masked_scatter):
    attach(**{_function.__name__ + "_": inplace.inplace(_function)})
