"""Elements written to the places that an index tensor names, along one dimension or through all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import linear, record
from ..naming import attach
from ..tensor import Tensor
from . import inplace
from .broadcast import cast
from .gather import _checked, _places, _within
from .reduce import axis_of


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
        from .scatter_reduce import scatter_reduce  # which is built on scatter_add

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


def _check_vector(index: Tensor, input: Tensor, dim: int, name: str, source: Tensor | None = None) -> None:
    """Index must be a vector of places along dim, and source have a row for each of them."""
    axis = axis_of(dim, input._array.ndim)
    at = index._array
    # torch's index_fill and index_add are RuntimeErrors here, the others IndexErrors
    if at.ndim > 1:
        kind = RuntimeError if name == "index_fill" else IndexError
        raise kind(f"{name}(): Index is supposed to be a vector, but got dim: {at.ndim}")
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
        kind = RuntimeError if name == "index_add" else IndexError
        raise kind(f"{name}(): Number of indices ({rows}) should be equal to source.size(dim) ({b.shape[axis]})")


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


METHODS = attach(scatter, scatter_add, index_add, index_copy, index_fill, masked_scatter, put)
attach(**{name + "_": inplace.inplace(function) for name, function in METHODS.items()})
