"""Elements taken from and put to places named by an index tensor along one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import linear, record
from ..naming import attach
from ..tensor import Tensor
from . import inplace
from .broadcast import cast, mismatch
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
        raise IndexError(f"index out of range in self: indices must be in [0, {n - 1}]")
    return getitem(input, (*(slice(None),) * axis, index.reshape(-1)))


def take(input: Tensor, index: Tensor) -> Tensor:
    if index._array.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype}")
    flat = input.reshape(-1)
    if not flat._array.size and index._array.size:
        raise IndexError("take(): tried to take from an empty tensor")
    return getitem(flat, index) if index._array.ndim else flat[int(index)].clone()


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of input with source written to (or added at) places counted through all elements."""
    if index._array.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype}")
    if input._array.dtype != source._array.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype")
    if index._array.size != source._array.size:
        raise RuntimeError(
            f"put_(): Expected source and index to have the same number of elements, but got {source._array.size} and "
            f"{index._array.size}"
        )
    n = input._array.size
    at = index._array.reshape(-1)
    if at.size and not (at.min() >= -n and at.max() < n):
        raise IndexError(f"out of range: tried to access index {int(at.max())} on a tensor of {n} elements.")
    flat, places, values = input.reshape(-1), Tensor(at % n if n else at), source.reshape(-1)
    out = index_add(flat, 0, places, values) if accumulate else index_copy(flat, 0, places, values)
    return out.reshape(input._array.shape)


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
    """The product of the others at each place, counted without dividing by 0: zeros are set aside."""
    zeros = (a == 0).astype(np.int64)
    np.add.at(zeros, places, b == 0)
    rest = np.where(a == 0, 1, a)
    np.multiply.at(rest, places, np.where(b == 0, 1, b))

    def others(value: np.ndarray, product: np.ndarray, count: np.ndarray) -> np.ndarray:
        without = count - (value == 0)
        return np.where(without > 0, 0, product / np.where(value == 0, 1, value))

    return g * others(a, rest, zeros), g[places] * others(b, rest[places], zeros[places])


def _scatter_extreme(input: Tensor, axis: int, at: np.ndarray, src: Tensor, function: Any) -> Tensor:
    """The gradient is shared among all that reached the extreme."""
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


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    if mask._array.dtype != np.bool_:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, but got {mask.dtype}")
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    return getitem(input.expand(shape), mask.expand(shape))


def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None
) -> Tensor:
    """A copy of input with src written to the places of index (or added to, multiplied with what is there)."""
    src = value if src is None else src
    a = input._array
    axis = axis_of(dim, a.ndim)
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError(f"reduce argument must be either add or multiply, but got {reduce!r}")
        given = src if isinstance(src, Tensor) else Tensor(np.full(index._array.shape, src, a.dtype))
        if reduce == "add":
            return scatter_add(input, dim, index, given)
        return scatter_reduce(input, dim, index, given, "prod")
    if not index._array.ndim or not a.ndim:  # a number counts as one place
        source = src.reshape(-1) if isinstance(src, Tensor) else src
        return scatter(input.reshape(-1), 0, index.reshape(-1), source).reshape(a.shape)
    at = _checked(index, input, axis, "scatter")
    if isinstance(src, Tensor):
        _check_source(at, src._array, a, axis, "scatter")
    if not at.size:
        return input.clone()
    places = _places(at, axis)
    source = src if isinstance(src, Tensor) else Tensor(np.full(at.shape, src, a.dtype))
    if source._array.dtype != a.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    part = tuple(slice(n) for n in at.shape)
    out, full, shape = a.copy(), source._array.shape, a.shape
    out[places] = source._array[part]

    def without(g: np.ndarray) -> np.ndarray:
        rest = g.copy()
        rest[places] = 0
        return rest

    to_source, from_source = _between(places, part, full, shape, add=False)
    return record(
        out,
        (input, source),
        lambda g, _: (without(g), to_source(g)),
        (index,),
        again=lambda g, _: (linear(g, without, without), linear(g, to_source, from_source)),
    )


def _check_source(at: np.ndarray, source: np.ndarray, a: np.ndarray, axis: int, name: str) -> None:
    if at.ndim != source.ndim and at.size:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if at.size:
        _within(at.shape, source.shape, None, name)
        _within(at.shape, a.shape, axis, name)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy of input with src added at the places of index (several at one place all count)."""
    a = input._array
    axis = axis_of(dim, a.ndim)
    if a.dtype != src._array.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index._array.ndim or not a.ndim:
        return scatter_add(input.reshape(-1), 0, index.reshape(-1), src.reshape(-1)).reshape(a.shape)
    at = _checked(index, input, axis, "scatter_add")
    _check_source(at, src._array, a, axis, "scatter_add")
    if not at.size:
        return input.clone()
    places, part = _places(at, axis), tuple(slice(n) for n in at.shape)
    out, full = a.copy(), src._array.shape
    np.add.at(out, places, src._array[part])

    to_source, from_source = _between(places, part, full, a.shape, add=True)
    return record(
        out,
        (input, src),
        lambda g, _: (g, to_source(g)),
        (index,),
        again=lambda g, _: (g, linear(g, to_source, from_source)),
    )


def _between(places: tuple, part: tuple, full: tuple, shape: tuple, add: bool) -> tuple[Any, Any]:
    """The gradient of what is written from a source's `part` to `places`, and its transpose."""

    def to_source(g: np.ndarray) -> np.ndarray:
        out = np.zeros(full, g.dtype)
        out[part] = g[places]
        return out

    def from_source(g: np.ndarray) -> np.ndarray:
        out = np.zeros(shape, g.dtype)
        np.add.at(out, places, g[part])
        return out

    return to_source, from_source


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    a = input._array
    _check_vector(index, input, dim, "index_add", source)
    if a.dtype != source._array.dtype:
        raise RuntimeError("index_add_(): self and source must have the same scalar type")
    if not a.ndim:
        return index_add(input.reshape(1), 0, index.reshape(-1), source.reshape(-1), alpha=alpha).reshape(())
    key = (*(slice(None),) * axis_of(dim, a.ndim), index._array.reshape(-1))
    out = a.copy()
    if not source._array.ndim:
        source = source.reshape(1)
    np.add.at(out, key, source._array * alpha if alpha != 1 else source._array)

    def from_source(g: np.ndarray) -> np.ndarray:
        full = np.zeros(shape, g.dtype)
        np.add.at(full, key, g * alpha)
        return full

    shape = a.shape
    return record(
        out,
        (input, source),
        lambda g, _: (g, g[key] * alpha),
        (index,),
        again=lambda g, _: (g, linear(g, lambda x: x[key] * alpha, from_source)),
    )


def _check_vector(index: Tensor, input: Tensor, dim: int, name: str, source: Tensor | None = None) -> None:
    """Index must be a vector of places along dim, and source have a row for each of them."""
    axis = axis_of(dim, input._array.ndim)
    at = index._array
    if at.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {at.ndim}")
    if at.dtype.kind not in "iu":
        raise IndexError(f"{name}(): Expected dtype int32/int64 for index, but got {index.dtype}")
    n = input._array.shape[axis] if input._array.ndim else 1
    if at.size and not (at.min() >= -n and at.max() < n):
        raise IndexError(f"index out of range in self: indices must be in [0, {n - 1}]")
    if source is None or not source._array.ndim:
        return
    rows, b = at.size, source._array
    if b.ndim != max(input._array.ndim, 1) and input._array.ndim:
        raise IndexError(
            f"{name}(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({b.ndim}), destination dimensionality ({input._array.ndim})"
        )
    if b.shape[axis] != rows:
        raise IndexError(f"{name}(): Number of indices ({rows}) should be equal to source.size(dim) ({b.shape[axis]})")


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    _check_vector(index, input, dim, "index_copy", source)
    if input._array.dtype != source._array.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype")
    return _index_put(input, dim, index, source)


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    value = value if isinstance(value, Tensor) else Tensor(np.asarray(value, input._array.dtype))
    if value._array.ndim:
        raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got {value._array.ndim} dims")
    _check_vector(index, input, dim, "index_fill")
    return _index_put(input, dim, index, cast(value, input._array.dtype))


def _index_put(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    a, b = input._array, source._array
    if not a.ndim:
        return _index_put(input.reshape(1), 0, index, source.reshape(-1) if b.ndim else source).reshape(())
    key = (*(slice(None),) * axis_of(dim, a.ndim), index._array.reshape(-1))
    if not b.ndim and index._array.size:  # one number at several places, some of them maybe named twice
        key = (*key[:-1], np.unique(key[-1] % a.shape[axis_of(dim, a.ndim)]))
    out = a.copy()
    out[key] = b

    shape, single = a.shape, b.ndim == 0

    def without(g: np.ndarray) -> np.ndarray:
        rest = g.copy()
        rest[key] = 0
        return rest

    def to_source(g: np.ndarray) -> np.ndarray:
        return np.asarray(g[key].sum()) if single else g[key]

    def from_source(g: np.ndarray) -> np.ndarray:
        full = np.zeros(shape, g.dtype)
        full[key] = g
        return full

    return record(
        out,
        (input, source),
        lambda g, _: (without(g), to_source(g)),
        (index,),
        again=lambda g, _: (linear(g, without, without), linear(g, to_source, from_source)),
    )


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    if mask._array.dtype != np.bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    if input._array.dtype != source._array.dtype:
        raise RuntimeError(
            f"masked_scatter_: expected self and source to have same dtypes but got {input.dtype} and {source.dtype}"
        )
    input, mask = input.expand(wide := np.broadcast_shapes(input._array.shape, mask._array.shape)), mask.expand(wide)
    m = mask._array
    if np.count_nonzero(m) > source._array.size:
        raise RuntimeError(
            "masked_scatter: expected the number of elements in source to be at least the number of ones "
            f"in mask, but got {source._array.size} < {np.count_nonzero(m)}"
        )
    n, shape = np.count_nonzero(m), source._array.shape
    out = input._array.copy()
    out[m] = source._array.reshape(-1)[:n]

    size = source._array.size

    def to_source(g: np.ndarray) -> np.ndarray:
        flat = np.zeros(size, g.dtype)
        flat[:n] = g[m]
        return flat.reshape(shape)

    def from_source(g: np.ndarray) -> np.ndarray:
        full = np.zeros(m.shape, g.dtype)
        full[m] = g.reshape(-1)[:n]
        return full

    return record(
        out,
        (input, source),
        lambda g, _: (g * ~m, to_source(g)),
        (mask,),
        again=lambda g, _: (g * Tensor(~m), linear(g, to_source, from_source)),
    )


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    a = input._array
    if as_tuple:
        return tuple(Tensor(i) for i in np.nonzero(np.atleast_1d(a)))
    return Tensor(np.stack(np.nonzero(a), 1) if a.ndim else np.zeros((int(bool(a)), 0), np.int64))


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of nonzero(), filled up with fill_value."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, but got {size}")
    rows = nonzero(input)._array[:size]
    out = np.full((size, input._array.ndim), fill_value, np.int64)
    out[: len(rows)] = rows
    return Tensor(out)


def argwhere(input: Tensor) -> Tensor:
    return nonzero(input)


METHODS = attach(
    gather, take_along_dim, index_select, take, masked_select, scatter, scatter_add, index_add, index_copy,
    index_fill, masked_scatter, nonzero, nonzero_static, argwhere, put, scatter_reduce, index_reduce,
)  # fmt: skip
for _function in (
    scatter,
    scatter_add,
    index_add,
    index_copy,
    index_fill,
    masked_scatter,
    put,
    scatter_reduce,
    index_reduce,
):
    attach(**{_function.__name__ + "_": inplace.inplace(_function)})
