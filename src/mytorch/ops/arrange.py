"""Splitting, repeating, flipping and cutting tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..gradmode import state as mode
from ..graph import Node, edge_of, record, record_view
from ..naming import attach, named, numpy_names
from ..tensor import Tensor
from .broadcast import mismatch
from .index import getitem
from .reduce import axis_of
from .shape import cat, expand, permute, reshape, sizes_of


def pieces(input: Tensor, keys: list[tuple]) -> tuple[Tensor, ...]:
    """Views that together make up the input. Their gradients are written into one array, instead of one each."""
    a = input._array
    if not (input.requires_grad and mode.enabled):
        return tuple([record_view(a[k], input, lambda g: g) for k in keys])
    shape = a.shape
    whole: dict[int, np.ndarray] = {}  # the gradient of the input, under the number of the running backward

    def gather_backward(g: np.ndarray) -> tuple:
        whole.clear()
        return (g,)

    gather = Node((edge_of(input),), gather_backward, None)
    out = []
    for key in keys:

        def split_backward(g: np.ndarray, key: tuple = key) -> tuple:
            first = mode.run not in whole
            if first:
                whole.clear()
                whole[mode.run] = np.zeros(shape, g.dtype)
            whole[mode.run][key] = g
            return (whole[mode.run] if first else None,)  # the later pieces are in it already

        view = record_view(a[key], input, lambda g: g)
        view._node = Node((gather,), split_backward, None)
        out.append(view)
    return tuple(out)


@numpy_names
def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    shape = input._array.shape
    axis = axis_of(dim, len(shape))
    n = shape[axis]
    if isinstance(split_size_or_sections, (int, np.integer)):
        step = int(split_size_or_sections)
        if step <= 0 and n:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={step}")
        sizes = [min(step, n - i) for i in range(0, n, step)] if n else [0]
    else:
        sizes = list(split_size_or_sections)
        if sum(sizes) != n:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {dim}), "
                f"but got split_sizes={sizes}"
            )
    ends = np.cumsum(sizes).tolist()
    lead = (slice(None),) * axis
    return pieces(input, [(*lead, slice(end - size, end)) for size, end in zip(sizes, ends)])


@numpy_names
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input._array.shape[axis_of(dim, input._array.ndim)]
    return split(input, max(1, -(-n // chunks)), dim)


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    n = input._array.shape[axis_of(dim, input._array.ndim)]
    if isinstance(indices_or_sections, int):
        sizes = [len(part) for part in np.array_split(np.arange(n), indices_or_sections)]
    else:
        sizes = np.diff([0, *indices_or_sections, n]).tolist()
    return split(input, sizes, dim)


@numpy_names
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    shape = input._array.shape
    axis = axis_of(dim, len(shape))
    lead = (slice(None),) * axis
    return pieces(input, [(*lead, i, ...) for i in range(shape[axis])])


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    lead = (slice(None),) * axis_of(dim, input._array.ndim)
    return getitem(input, (*lead, slice(start, start + length)))


def select(input: Tensor, dim: int, index: int) -> Tensor:
    return getitem(input, (*(slice(None),) * axis_of(dim, input._array.ndim), index))


def repeat(input: Tensor, *sizes: Any, repeats: Any = None) -> Tensor:
    a, times = input._array, sizes_of(sizes, repeats)
    if len(times) < a.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(times) - a.ndim) + a.shape
    apart = [n for pair in zip(times, shape) for n in pair]  # (times, size) for each dim
    axes = tuple(range(0, len(apart), 2))
    return record(np.tile(a, times), (input,), lambda g: (g.reshape(apart).sum(axes).reshape(a.shape),))


def tile(input: Tensor, *sizes: Any, dims: Any = None) -> Tensor:
    times = sizes_of(sizes, dims)
    return repeat(input, (1,) * (input._array.ndim - len(times)) + tuple(times))


def repeat_interleave(input: Tensor, repeats: Any, dim: int | None = None) -> Tensor:
    if dim is None:
        input, dim = reshape(input, -1), 0
    axis = axis_of(dim, input._array.ndim)
    times = repeats._array if isinstance(repeats, Tensor) else repeats
    source = np.repeat(np.arange(input._array.shape[axis]), times)
    return getitem(input, (*(slice(None),) * axis, Tensor(source)))


def flip(input: Tensor, *axes: Any, dims: Any = None) -> Tensor:
    axes = tuple([axis_of(d, input._array.ndim) for d in sizes_of(axes, dims)])
    return record(np.flip(input._array, axes).copy(), (input,), lambda g: (np.flip(g, axes),))


def fliplr(input: Tensor) -> Tensor:
    return flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    return flip(input, 0)


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    back = tuple(-s for s in shifts) if isinstance(shifts, (tuple, list)) else -shifts
    return record(np.roll(input._array, shifts, dims), (input,), lambda g: (np.roll(g, back, dims),))


def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    return record(np.rot90(input._array, k, dims).copy(), (input,), lambda g: (np.rot90(g, -k, dims),))


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    return record(np.tril(input._array, diagonal), (input,), lambda g: (np.tril(g, diagonal),))


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    return record(np.triu(input._array, diagonal), (input,), lambda g: (np.triu(g, diagonal),))


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    shape = input._array.shape

    def diagonal_backward(g: np.ndarray) -> np.ndarray:
        full = np.zeros(shape, g.dtype)
        at = np.arange(g.shape[-1])
        moved = np.moveaxis(full, (dim1, dim2), (-2, -1))
        moved[..., at + max(-offset, 0), at + max(offset, 0)] = g
        return full

    return record_view(np.diagonal(input._array, offset, dim1, dim2), input, diagonal_backward)


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with a vector as its diagonal."""
    a = input._array
    if a.ndim == 1:
        return record(np.diag(a, diagonal), (input,), lambda g: (np.diagonal(g, diagonal),))
    return _diagonal_of(input, diagonal)


_diagonal_of = diagonal


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` elements, every `step`, in a new last dim."""
    a = input._array
    axis = axis_of(dimension, a.ndim)
    if size > a.shape[axis]:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {a.shape[axis]} but size is {size}")
    windows = np.lib.stride_tricks.sliding_window_view(a, size, axis)
    lead = (slice(None),) * axis
    out = windows[(*lead, slice(None, None, step))]
    shape, count = a.shape, out.shape[axis]

    def unfold_backward(g: np.ndarray) -> tuple:
        full = np.zeros(shape, g.dtype)
        for i in range(size):
            full[(*lead, slice(i, i + step * (count - 1) + 1, step))] += g[..., i]
        return (full,)

    return record(np.ascontiguousarray(out), (input,), unfold_backward)


def broadcast_tensors(*tensors: Tensor) -> list[Tensor]:
    try:
        shape = np.broadcast_shapes(*[t._array.shape for t in tensors])
    except ValueError:
        raise mismatch(tensors[0]._array.shape, tensors[1]._array.shape) from None
    return [expand(t, shape) for t in tensors]


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    parts = list(sizes_of(tensors)) if not isinstance(tensors[0], Tensor) else list(tensors)
    n = len(parts)
    shape = [p._array.size for p in parts]
    grids = [expand(reshape(p, [-1 if i == j else 1 for j in range(n)]), shape) for i, p in enumerate(parts)]
    if indexing == "xy" and n > 1:
        grids = [permute(g, 1, 0, *range(2, n)) for g in grids]
    return tuple(grids)


def at_least(input: Tensor, ndim: int) -> Tensor:
    return reshape(input, (1,) * (ndim - input._array.ndim) + input._array.shape) if input._array.ndim < ndim else input


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    parts = [at_least(t, 1) for t in tensors]
    return cat(parts, 0 if parts[0]._array.ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    return cat([at_least(t, 2) for t in tensors], 0)


METHODS = attach(
    split, chunk, tensor_split, unbind, narrow, select, tile, repeat_interleave, flip, fliplr, flipud, roll,
    rot90, tril, triu, diagonal, diag,
)  # fmt: skip
FUNCTIONS = named(broadcast_tensors, meshgrid, hstack, vstack, row_stack=vstack)
attach(repeat, unfold)
