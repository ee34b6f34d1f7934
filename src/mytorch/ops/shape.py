"""The same elements in another shape or order; where NumPy gives a view, so do these."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..autograd import record, record_view
from ..dtypes import common
from ..naming import attach, named, numpy_names
from ..tensor import Tensor
from .broadcast import cast, unbroadcast
from .reduce import axis_of


def sizes_of(args: tuple, named: Any = None) -> tuple:
    """reshape(2, 3), reshape((2, 3)) and reshape(shape=(2, 3)) are one."""
    if named is not None:
        args = (named,)
    if len(args) == 1 and not isinstance(args[0], (int, np.integer, Tensor)):
        return tuple(args[0])
    return args


def _view(array: np.ndarray, input: Tensor, backward: Any) -> Tensor:
    """A view if NumPy can make one; a copy has its own version counter."""
    a = input._array
    if a.flags.c_contiguous or np.may_share_memory(a, array):
        return record_view(array, input, backward, again=_reshaped(a.shape))
    return record(array, (input,), lambda g: (backward(g),), again=_reshaped(a.shape))


def _reshaped(shape: tuple) -> Any:
    return lambda g: (reshape(g, shape),)


def reshape(input: Tensor, *sizes: Any, shape: Any = None) -> Tensor:
    a = input._array
    own = a.shape
    sizes = sizes_of(sizes, shape)
    try:
        out = a.reshape(sizes)
    except ValueError:
        raise RuntimeError(f"shape '{[int(s) for s in sizes]}' is invalid for input of size {a.size}") from None
    return _view(out, input, lambda g: g.reshape(own))


def view(input: Tensor, *shape: Any, size: Any = None) -> Tensor:
    a = input._array
    if len(shape) == 1 and not isinstance(shape[0], (int, np.integer, tuple, list, Tensor)):
        raise NotImplementedError("mytorch's Tensor.view takes sizes; use .to(dtype) to convert a dtype")
    out = reshape(input, *shape, shape=size)
    # Images come out of convolutions with the batch last in memory (nn/functional/layout.py). In torch they are
    # contiguous, and a script may view them: then reshape's copy has to do.
    image = a.ndim > 2 and a.transpose(*range(1, a.ndim), 0).flags.c_contiguous
    if out._version is not input._version and a.size and not image:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
            "two contiguous subspaces). Use .reshape(...) instead."
        )
    return out


def view_as(input: Tensor, other: Tensor) -> Tensor:
    return view(input, *other._array.shape)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    return reshape(input, *other._array.shape)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    shape = input._array.shape
    if not shape:
        return reshape(input, 1)
    first, last = axis_of(start_dim, len(shape)), axis_of(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    n = 1
    for s in shape[first : last + 1]:
        n *= s
    return reshape(input, (*shape[:first], n, *shape[last + 1 :]))


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    shape = input._array.shape
    dim = axis_of(dim, len(shape))
    return reshape(input, (*shape[:dim], *sizes, *shape[dim + 1 :]))


def ravel(input: Tensor) -> Tensor:
    return reshape(input, -1)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    a = input._array
    i, j = axis_of(dim0, a.ndim), axis_of(dim1, a.ndim)
    if not a.ndim:
        return record_view(a, input, lambda g: g, lambda x: x)

    def swapped(x: np.ndarray) -> np.ndarray:
        return x.swapaxes(i, j)

    swapped.__qualname__ = "transpose"  # what grad_fn shows
    return record_view(swapped(a), input, swapped, swapped)


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    return transpose(input, axis0, axis1)


def permute(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    a = input._array
    order = tuple([axis_of(d, a.ndim) for d in sizes_of(order, dims)])
    if len(set(order)) != len(order):
        raise RuntimeError(f"permute(): duplicate dims are not allowed: {list(order)}")
    if len(order) != a.ndim:
        raise RuntimeError(
            "permute(): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {a.ndim} is not equal to len(dims) = {len(order)}"
        )
    back = tuple(np.argsort(order).tolist())
    return record_view(a.transpose(order), input, lambda g: g.transpose(back), lambda x: x.transpose(order))


def _check_moves(source: Any, destination: Any, ndim: int) -> None:
    moves = [(d,) if isinstance(d, int) else tuple(d) for d in (source, destination)]
    if len(moves[0]) != len(moves[1]):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source and destination dims must have the same number of "
            f"elements, but got {moves[0]} and {moves[1]}"
        )
    for word, dims in zip(("source", "destination"), moves):
        places = [axis_of(d, ndim) for d in dims]
        if len(set(places)) < len(places):
            raise RuntimeError(f"movedim: repeated dim in `{word}` ({list(dims)})")


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    a = input._array
    _check_moves(source, destination, a.ndim)
    if not a.ndim:
        return record_view(a, input, lambda g: g, lambda x: x)
    return record_view(
        np.moveaxis(a, source, destination),
        input,
        lambda g: np.moveaxis(g, destination, source),
        lambda x: np.moveaxis(x, source, destination),
    )


def t(input: Tensor) -> Tensor:
    if input._array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input._array.ndim}D")
    return record_view(input._array.T, input, lambda g: g.T, lambda x: x.T)


def _all_reversed(input: Tensor) -> Tensor:
    return record_view(input._array.T, input, lambda g: g.T, lambda x: x.T)


def _matrix_transpose(input: Tensor) -> Tensor:
    return transpose(input, -2, -1)


@numpy_names
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    a = input._array
    shape = a.shape
    if dim is None:
        out = a.squeeze()
    else:
        dims = {axis_of(d, a.ndim) for d in ((dim,) if isinstance(dim, int) else dim)}
        out = a.reshape([n for i, n in enumerate(shape) if i not in dims or n != 1])
    return _view(out, input, lambda g: g.reshape(shape))


@numpy_names
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    a = input._array
    axis = axis_of(dim, a.ndim + 1)
    shape = a.shape
    return record_view(np.expand_dims(a, axis), input, lambda g: g.reshape(shape), again=_reshaped(shape))


def expand(input: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    a = input._array
    shape = a.shape
    wanted = [int(s) for s in sizes_of(sizes, size)]
    lead = len(wanted) - len(shape)
    full = [shape[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(wanted)]
    try:
        out = np.broadcast_to(a, full)
    except ValueError:
        bad = next((i for i, n in enumerate(full) if i < lead or shape[i - lead] not in (1, n)), 0)
        raise RuntimeError(
            f"The expanded size of the tensor ({full[bad] if full else 1}) must match the existing size "
            f"({shape[bad - lead] if 0 <= bad - lead < len(shape) else 1}) at non-singleton dimension {bad}.  "
            f"Target sizes: {full}.  Tensor sizes: {list(shape)}"
        ) from None
    return record_view(out, input, lambda g: unbroadcast(g, shape), lambda x: np.broadcast_to(x, full))


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    return expand(input, *other._array.shape)


def broadcast_to(input: Tensor, size: Any) -> Tensor:
    return expand(input, size)


def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    a = input._array
    if a.flags.c_contiguous:
        return input
    return record(np.ascontiguousarray(a), (input,), lambda g: (g,), again=True)


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    return record(input._array.copy(), (input,), lambda g: (g,), again=True)


@numpy_names
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    if isinstance(tensors, Tensor):
        raise TypeError("cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    tensors = list(tensors)
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    tensors = _one_dtype([t for t in tensors if t._array.shape != (0,)] or tensors[:1])
    arrays = [t._array for t in tensors]
    ndim = arrays[0].ndim
    if not ndim:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    axis = axis_of(dim, ndim)
    try:
        out = np.concatenate(arrays, axis)
    except ValueError:
        shown = ", ".join(str(list(a.shape)) for a in arrays)
        raise RuntimeError(f"Sizes of tensors must match except in dimension {axis}. Got {shown}") from None
    ends = np.cumsum([a.shape[axis] for a in arrays])[:-1]

    def cat_again(g: Tensor) -> list:
        edges = [0, *ends.tolist(), g._array.shape[axis]]
        lead = (slice(None),) * axis
        return [g[(*lead, slice(start, end))] for start, end in pairwise(edges)]

    return record(out, tensors, lambda g: np.split(g, ends, axis), again=cat_again)


@numpy_names
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    tensors = _one_dtype(list(tensors))
    arrays = [t._array for t in tensors]
    if not arrays:
        raise RuntimeError("stack expects a non-empty TensorList")
    axis = axis_of(dim, arrays[0].ndim + 1)
    try:
        out = np.stack(arrays, axis)
    except ValueError:
        bad = next(i for i, a in enumerate(arrays) if a.shape != arrays[0].shape)
        raise RuntimeError(
            f"stack expects each tensor to be equal size, but got {list(arrays[0].shape)} at entry 0 and "
            f"{list(arrays[bad].shape)} at entry {bad}"
        ) from None
    return record(out, tensors, lambda g: list(np.moveaxis(g, axis, 0)), again=lambda g: g.unbind(axis))


def _one_dtype(tensors: list[Tensor]) -> list[Tensor]:
    kind = tensors[0]._array.dtype if tensors else None
    if all(t._array.dtype == kind for t in tensors):
        return tensors
    total = tensors[0]._array
    for t in tensors[1:]:
        total = np.empty((0,) if total.ndim or t._array.ndim else (), common(total, t._array))
    return [cast(t, total.dtype) for t in tensors]


METHODS = attach(
    reshape, flatten, unflatten, ravel, transpose, permute, movedim, t, squeeze, unsqueeze, broadcast_to,
    clone, swapaxes=swapaxes, swapdims=transpose, moveaxis=movedim,
)  # fmt: skip
FUNCTIONS = named(cat, stack, concat=cat, concatenate=cat)
attach(
    view, view_as, reshape_as, expand, expand_as, contiguous, T=property(_all_reversed),
    mT=property(_matrix_transpose), H=property(_matrix_transpose),
)  # fmt: skip
