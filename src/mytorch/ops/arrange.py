"""Splitting, repeating, flipping and cutting tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..gradmode import state as mode
from ..graph import Node, edge_of, linear, record, record_view
from ..naming import attach, named, numpy_names
from ..tensor import Tensor
from .broadcast import mismatch
from .index import getitem
from .reduce import axis_of
from .shape import cat, expand, permute, reshape, sizes_of


def pieces(input: Tensor, keys: list[tuple]) -> tuple[Tensor, ...]:
    """Views that together make up the input. Their gradients are written into one array, instead of one each."""
    a = input._array
    if not (input._requires_grad and mode.enabled):
        return tuple([record_view(a[k], input, lambda g: g) for k in keys])
    shape = a.shape  # a 0-d piece comes as a number without its ellipsis: keys have one
    whole: dict[int, np.ndarray] = {}  # the gradient of the input, under the number of the running backward

    def gather_backward(g: np.ndarray) -> tuple:
        whole.clear()
        return (g,)

    gather = Node((edge_of(input),), gather_backward, again=lambda g: (g,))
    out = []
    for key in keys:

        def split_backward(g: np.ndarray, key: tuple = key) -> tuple:
            first = mode.run not in whole
            if first:
                whole.clear()
                whole[mode.run] = np.zeros(shape, g.dtype)
            whole[mode.run][key] = g
            return (whole[mode.run] if first else None,)  # the later pieces are in it already

        def split_again(g: Tensor, key: tuple = key) -> tuple:
            return (linear(g, lambda part: _put(np.zeros(shape, part.dtype), key, part), lambda whole: whole[key]),)

        view = record_view(a[key], input, lambda g: g)
        view._node = Node((gather,), split_backward, again=split_again)
        out.append(view)
    return tuple(out)


def _put(array: np.ndarray, key: tuple, value: np.ndarray) -> np.ndarray:
    array[key] = value
    return array


@numpy_names
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    shape = tensor._array.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
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
    return pieces(tensor, [(*lead, slice(end - size, end)) for size, end in zip(sizes, ends)])


def _split(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """The method, whose argument has another name than the function's."""
    return split(self, split_size, dim)


@numpy_names
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not input._array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    n = input._array.shape[axis_of(dim, input._array.ndim)]
    return split(input, -(-n // chunks) if n else [0] * chunks, dim)


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    if not input._array.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    axis = axis_of(dim, input._array.ndim)
    n = input._array.shape[axis]
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections._array.dtype != np.int64 or indices_or_sections._array.ndim > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a 0-d or 1-d long tensor")
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        if indices_or_sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {indices_or_sections}")
        ends = np.cumsum([len(part) for part in np.array_split(np.arange(n), indices_or_sections)]).tolist()
        cuts = ends[:-1]
    else:
        cuts = list(indices_or_sections)
    lead = (slice(None),) * axis
    # as with NumPy, cuts may lie outside or go back
    return tuple(getitem(input, (*lead, slice(a, b))) for a, b in zip([0, *cuts], [*cuts, n]))


def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    return split(input, list(split_sizes), dim)


def _split_along(name: str, least: int, axis: Any) -> Any:
    """hsplit, vsplit and dsplit: tensor_split along a fixed dim, into equal parts if a number is given."""

    def op(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        rank = input._array.ndim
        if rank < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension but got one with {rank} dimensions!"
            )
        dim = axis(rank)
        n = input._array.shape[dim]
        if isinstance(indices_or_sections, int) and (indices_or_sections <= 0 or n % indices_or_sections):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {n} is not "
                f"divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, dim)

    op.__name__ = op.__qualname__ = name
    return op


hsplit = _split_along("hsplit", 1, lambda rank: 0 if rank == 1 else 1)
vsplit = _split_along("vsplit", 2, lambda rank: 0)
dsplit = _split_along("dsplit", 3, lambda rank: 2)


@numpy_names
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    shape = input._array.shape
    axis = axis_of(dim, len(shape))
    lead = (slice(None),) * axis
    return pieces(input, [(*lead, i, ...) for i in range(shape[axis])])


def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    if not input._array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    n = input._array.shape[axis_of(dim, input._array.ndim)]
    if isinstance(start, Tensor) and (start._array.ndim or start._array.dtype.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    start = int(start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    lead = (slice(None),) * axis_of(dim, input._array.ndim)
    return getitem(input, (*lead, slice(start, start + length)))


def select(input: Tensor, dim: int, index: int) -> Tensor:
    if not input._array.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    n = input._array.shape[axis_of(dim, input._array.ndim)]
    if not -n <= int(index) < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input._array.shape)} at dimension {dim}"
        )
    return getitem(input, (*(slice(None),) * axis_of(dim, input._array.ndim), index))


def repeat(input: Tensor, *sizes: Any, repeats: Any = None) -> Tensor:
    a, times = input._array, sizes_of(sizes, repeats)
    if len(times) < a.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(times) - a.ndim) + a.shape
    apart = [n for pair in zip(times, shape) for n in pair]  # (times, size) for each dim
    axes = tuple(range(0, len(apart), 2))
    own = a.shape
    if not a.size or not all(times):
        return linear(input, lambda x: np.tile(x, times), lambda g: np.zeros(own, g.dtype))
    return linear(input, lambda x: np.tile(x, times), lambda g: g.reshape(apart).sum(axes).reshape(own))


def tile(input: Tensor, *sizes: Any, dims: Any = None) -> Tensor:
    times = sizes_of(sizes, dims)
    return repeat(input, (1,) * (input._array.ndim - len(times)) + tuple(times))


def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: Any = None) -> Tensor:
    if repeats is None:  # repeat_interleave(repeats): each index as often as it says
        return Tensor(np.repeat(np.arange(input._array.size), input._array))
    if dim is None:
        input, dim = reshape(input, -1), 0
    axis = axis_of(dim, input._array.ndim)
    times = repeats._array if isinstance(repeats, Tensor) else repeats
    if np.ndim(times) > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if np.ndim(times) == 1 and np.size(times) not in (1, input._array.shape[axis] if input._array.ndim else 1):
        raise RuntimeError("repeats must have the same size as input along dim")
    if not input._array.ndim:
        input = reshape(input, 1)
    if np.any(np.asarray(times) < 0):
        raise RuntimeError("repeats can not be negative")
    source = np.repeat(np.arange(input._array.shape[axis]), times)
    return getitem(input, (*(slice(None),) * axis, Tensor(source)))


def flip(input: Tensor, *axes: Any, dims: Any = None) -> Tensor:
    axes = tuple([axis_of(d, input._array.ndim) for d in sizes_of(axes, dims)])
    if len(set(axes)) < len(axes):
        raise RuntimeError(f"dim {axes[0]} appears multiple times in the list of dims")
    if not input._array.ndim:
        return input.clone()
    return linear(input, lambda a: np.flip(a, axes).copy(), lambda g: np.flip(g, axes))


def fliplr(input: Tensor) -> Tensor:
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    if input._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    back = tuple(-s for s in shifts) if isinstance(shifts, (tuple, list)) else -shifts
    if isinstance(shifts, (tuple, list)) and not shifts:
        raise RuntimeError("`shifts` required")
    if isinstance(shifts, (tuple, list)) and dims is not None and len(shifts) != len(sizes_of((dims,))):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims: {len(sizes_of((dims,)))}")
    if dims is not None and dims != ():
        if not input._array.ndim:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        for d in sizes_of((dims,)):
            axis_of(d, input._array.ndim)
    dims = None if dims is None or dims == () or not input._array.ndim else dims
    return linear(input, lambda a: np.roll(a, shifts, dims), lambda g: np.roll(g, back, dims))


def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input._array.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input._array.ndim}")
    i, j = (axis_of(d, input._array.ndim) for d in dims)
    if i == j:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return linear(input, lambda a: np.rot90(a, k, (i, j)).copy(), lambda g: np.rot90(g, -k, (i, j)))


def _matrix(input: Tensor, name: str) -> None:
    if input._array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions, but got {input._array.ndim}")


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    _matrix(input, "tril")
    return linear(input, lambda a: np.tril(a, diagonal), lambda g: np.tril(g, diagonal))


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    _matrix(input, "triu")
    return linear(input, lambda a: np.triu(a, diagonal), lambda g: np.triu(g, diagonal))


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    shape = input._array.shape
    i, j = axis_of(dim1, len(shape)), axis_of(dim2, len(shape))
    if i == j:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")

    def diagonal_backward(g: np.ndarray) -> np.ndarray:
        full = np.zeros(shape, g.dtype)
        at = np.arange(g.shape[-1])
        moved = np.moveaxis(full, (dim1, dim2), (-2, -1))
        moved[..., at + max(-offset, 0), at + max(offset, 0)] = g
        return full

    def diagonal_of(a: np.ndarray) -> np.ndarray:
        return np.diagonal(a, offset, dim1, dim2)

    out = diagonal_of(input._array)
    out.flags.writeable = input._array.flags.writeable  # NumPy's is read-only by default
    return record_view(out, input, diagonal_backward, diagonal_of)


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with a vector as its diagonal."""
    a = input._array
    if a.ndim == 1:
        return linear(input, lambda x: np.diag(x, diagonal), lambda g: np.diagonal(g, diagonal))
    if a.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {a.ndim}D")
    return _diagonal_of(input, diagonal)


_diagonal_of = diagonal


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` elements, every `step`, in a new last dim."""
    a = input._array
    axis = axis_of(dimension, a.ndim)
    if size > (a.shape[axis] if a.ndim else 1):
        raise RuntimeError(
            f"maximum size for tensor at dimension {axis} is {a.shape[axis] if a.ndim else 1} but size is {size}"
        )
    if not a.ndim:
        return input.reshape(1)[:size].clone()
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    lead = (slice(None),) * axis

    def windows(x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(
            np.lib.stride_tricks.sliding_window_view(x, size, axis)[(*lead, slice(None, None, step))]
        )

    out = windows(a)
    shape, count = a.shape, out.shape[axis]

    def unfold_backward(g: np.ndarray) -> tuple:
        full = np.zeros(shape, g.dtype)
        for i in range(size):
            full[(*lead, slice(i, i + step * (count - 1) + 1, step))] += g[..., i]
        return (full,)

    return record(out, (input,), unfold_backward, forward=windows)


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
    if not tensors:
        raise RuntimeError("hstack expects a non-empty TensorList")
    parts = [at_least(t, 1) for t in tensors]
    return cat(parts, 0 if parts[0]._array.ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    if not tensors:
        raise RuntimeError("vstack expects a non-empty TensorList")
    return cat([at_least(t, 2) for t in tensors], 0)


METHODS = attach(
    split_with_sizes, chunk, tensor_split, hsplit, vsplit, dsplit, unbind, narrow, select, tile,
    repeat_interleave, flip, fliplr, flipud, roll,
    rot90, tril, triu, diagonal, diag,
)  # fmt: skip
FUNCTIONS = named(split, broadcast_tensors, meshgrid, hstack, vstack, row_stack=vstack)
attach(repeat, unfold, split=_split)
