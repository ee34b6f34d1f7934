"""Products, combinations and sums of several tensors, written with other operations."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from .. import return_types
from ..naming import attach, named, numpy_names
from ..tensor import Tensor
from .arrange import diagonal
from .broadcast import cast, floating, mismatch
from .linalg import _scaled, bmm, outer
from .pointwise import where
from .reduce import axis_of
from .shape import cat, reshape, stack


def kron(input: Tensor, other: Tensor) -> Tensor:
    """Every element of input times all of other, block by block."""
    rank = max(input._array.ndim, other._array.ndim)
    a, b = ((1,) * (rank - t._array.ndim) + t._array.shape for t in (input, other))
    left = reshape(input, [n for size in a for n in (size, 1)])
    right = reshape(other, [n for size in b for n in (1, size)])
    return reshape(left * right, [m * n for m, n in zip(a, b)])


def block_diag(*tensors: Any) -> Tensor:
    """Matrices along the diagonal of one; numbers and vectors are matrices with one row."""
    parts = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)
    if not parts:
        return Tensor(np.zeros((1, 0), np.float32))
    for t in parts:
        if t._array.ndim > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Got {t._array.ndim}")
    matrices = [reshape(t, 1, -1) if t._array.ndim < 2 else t for t in parts]
    width = sum(m._array.shape[1] for m in matrices)
    rows, before = [], 0
    for m in matrices:
        n, own = m._array.shape
        after = width - before - own
        rows.append(cat([m.new_zeros((n, before)), m, m.new_zeros((n, after))], 1))
        before += own
    return cat(rows, 0)


def cartesian_prod(*tensors: Any) -> Tensor:
    """All pairs, triples, ... of elements of vectors, one per row."""
    parts = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)
    if len(parts) == 1:
        return parts[0]
    index = np.indices([t._array.size for t in parts]).reshape(len(parts), -1)
    return stack([t[Tensor(i)] for t, i in zip(parts, index)], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    if input._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input._array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_zeros((0,))
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    index = np.array(list(pick(range(input._array.size), r)), np.int64).reshape(-1, r)
    return input[Tensor(index)]


def column_stack(tensors: Any) -> Tensor:
    parts = list(tensors)
    if not parts:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    return cat([reshape(t, -1, 1) if t._array.ndim < 2 else t for t in parts], 1)


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    from ..linalg import cross as along

    if dim is None:
        dim = next((i for i, n in enumerate(input._array.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return along(input, other, dim=dim)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dim as the diagonal of new matrices."""
    n = input._array.shape[-1] + abs(offset)
    lead = input._array.shape[:-1]
    rank = len(lead) + 2
    first, second = axis_of(dim1, rank), axis_of(dim2, rank)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    empty = input.new_zeros((*lead, n, n))
    made = diagonal_scatter(empty, input, offset, -2, -1)
    return made.movedim((-2, -1), (first, second)) if (first, second) != (rank - 2, rank - 1) else made


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    return diag_embed(reshape(input, -1), offset)


def _with(input: Tensor, src: Tensor, view: Any) -> Tensor:
    """A copy of input with a view of it overwritten."""
    out = input.clone()
    part = view(out)
    if part._array.shape != src._array.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src._array.shape)}, "
            f"slice size = {list(part._array.shape)}"
        )
    part.copy_(src)
    return out


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    return _with(input, src, lambda t: diagonal(t, offset, dim1, dim2))


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    return _with(input, src, lambda t: t.select(dim, index))


def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    lead = (slice(None),) * axis_of(dim, input._array.ndim)
    return _with(input, src, lambda t: t[(*lead, slice(start, end, step))])


def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    product = _scaled(outer(vec1, vec2), alpha)
    return product.expand(np.broadcast_shapes(input._array.shape, product._array.shape)) if beta == 0 else (
        _scaled(input, beta) + product)  # fmt: skip


def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return _scaled(input, beta) + _scaled(bmm(batch1, batch2).sum(0), alpha)


def vdot(input: Tensor, other: Tensor) -> Tensor:
    if input._array.ndim != 1 or other._array.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input._array.ndim}D and {other._array.ndim}D tensors")
    if input._array.size != other._array.size:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input._array.size}] and src [{other._array.size}] to have "
            "the same number of elements"
        )
    return (input.conj() * other).sum()


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    return (input - other).norm(p)


@numpy_names
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The area under straight lines between points."""
    return _areas(y, x, dx, dim).sum(dim)


@numpy_names
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    return _areas(y, x, dx, dim).cumsum(dim)


def _areas(y: Tensor, x: Any, dx: Any, dim: int) -> Tensor:
    axis = axis_of(dim, y._array.ndim)
    n = y._array.shape[axis]
    middle = (y.narrow(axis, 1, n - 1) + y.narrow(axis, 0, n - 1)) / 2 if n else y
    if x is None:
        return middle * (1 if dx is None else dx)
    if not isinstance(x, Tensor):
        return middle * x
    if x._array.ndim == 1:
        if x._array.size != n:
            raise RuntimeError("trapezoid(): There must be one `x` value for each sample point")
        widths = x.diff()
        return middle * widths.reshape([-1 if i == axis else 1 for i in range(y._array.ndim)])
    return middle * x.diff(dim=dim)


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> list[Tensor]:
    """Slopes by differences of neighbours, along each dim; at the ends one-sided (of order 1 or 2)."""
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, but got {edge_order}")
    rank = input._array.ndim
    if dim is None:
        several = isinstance(spacing, (list, tuple)) and len(spacing) != rank
        dims = list(range(len(spacing))) if several else list(range(rank))
    else:
        dims = [dim] if isinstance(dim, int) else list(dim)
    if len({axis_of(d, rank) for d in dims}) < len(dims):
        raise RuntimeError(f"dim {dims[0]} appears multiple times in the list of dims")
    spacing = 1 if spacing is None else spacing
    steps = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(steps) != len(dims):
        raise RuntimeError(f"torch.gradient expected spacing for each of {len(dims)} dims, but got {len(steps)}")
    for d in dims:
        if input._array.shape[axis_of(d, rank)] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    source = input if input._array.dtype.kind in "fc" else floating(input)
    return [_slopes(source, s, axis_of(d, rank), edge_order) for d, s in zip(dims, steps)]


def _slopes(input: Tensor, spacing: Any, axis: int, edge_order: int) -> Tensor:
    x = input.movedim(axis, -1)
    n = x._array.shape[-1]
    if isinstance(spacing, Tensor) and spacing._array.ndim:
        place = spacing._array.astype(np.float64)
    else:
        place = np.arange(n) * float(spacing)
    matrix = np.zeros((n, n))
    for i in range(n):  # the weights of each point's neighbours
        if 0 < i < n - 1:
            a, b = place[i] - place[i - 1], place[i + 1] - place[i]
            matrix[i, i - 1 : i + 2] = [-b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b))]
        elif edge_order == 1 or n < 3:
            j = 0 if i == 0 else n - 2
            matrix[i, j : j + 2] = np.array([-1, 1]) / (place[j + 1] - place[j])
        elif i == 0:
            a, b = place[1] - place[0], place[2] - place[1]
            matrix[i, :3] = [-(2 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))]
        else:
            a, b = place[-2] - place[-3], place[-1] - place[-2]
            matrix[i, -3:] = [b / (a * (a + b)), -(a + b) / (a * b), (2 * b + a) / (b * (a + b))]
    return (x @ Tensor(matrix.T.astype(x._array.dtype))).movedim(-1, axis)


def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Slices along dim scaled down to a p-norm of at most maxnorm."""
    if p <= 0:
        raise RuntimeError(f"renorm: non-positive norm not supported, but got {p}")
    if input._array.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input._array.ndim} dimensions")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    axis = axis_of(dim, input._array.ndim)
    others = [i for i in range(input._array.ndim) if i != axis]
    norms = input.norm(p, others, keepdim=True)
    factor = where(norms > maxnorm, maxnorm / (norms + 1e-7), norms * 0 + 1)
    return input * factor


def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the running sum of exp(x), each from the largest so far on."""
    x = floating(input)
    axis = axis_of(dim, x._array.ndim)
    if not x._array.ndim or not x._array.size:
        return x.clone()
    rows = x.movedim(axis, -1)
    n = rows._array.shape[-1]
    earlier = Tensor(np.tri(n, dtype=np.bool_))
    table = where(earlier, rows.unsqueeze(-2).expand(*rows._array.shape[:-1], n, n), -math.inf)
    return table.logsumexp(-1).movedim(-1, axis)


def logdet(input: Tensor) -> Tensor:
    from .decompose import slogdet

    sign, size = slogdet(input)
    return size + Tensor(np.where(sign._array < 0, np.nan, 0).astype(size._array.dtype))


def matrix_exp(input: Tensor) -> Tensor:
    """exp of a matrix: Taylor's series of a small part of it, squared back up."""
    from .decompose import check_matrix

    check_matrix("linalg.matrix_exp", input, square=True)
    if not input._array.size:
        return input.clone()
    if input._array.dtype == np.float32:  # so that squaring does not lose digits
        return cast(matrix_exp(cast(input, np.dtype(np.float64))), input._array.dtype)
    size = float(np.abs(input._array).sum(-1).max())
    times = max(0, math.ceil(math.log2(size)) + 3) if size > 0 and math.isfinite(size) else 0
    x = input / 2.0**times
    term = total = Tensor(np.broadcast_to(np.eye(input._array.shape[-1], dtype=input._array.dtype), input._array.shape))
    for k in range(1, 14):
        term = term @ x / k
        total = total + term
    for _ in range(times):
        total = total @ total
    return total


def broadcast_shapes(*shapes: Any) -> Any:
    from ..dtypes import Size

    plain = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    for s in plain:
        if any(n < 0 for n in s):
            raise RuntimeError(f"Trying to create tensor with negative dimension: {s}")
    try:
        return Size(np.broadcast_shapes(*plain))
    except ValueError:
        raise mismatch(plain[0], plain[-1]) from None


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Places counted through all elements as one index tensor per dim."""
    if indices._array.dtype.kind not in "iu":
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape).__name__}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    flat, parts = indices._array, []
    for n in reversed(sizes):
        parts.append(Tensor(np.asarray(flat % n)))
        flat = flat // n
    return tuple(reversed(parts))


def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    from .broadcast import unbroadcast
    from .shape import sizes_of

    wanted = tuple(sizes_of(size))
    shape = input._array.shape
    tail = shape[len(shape) - len(wanted) :]
    if len(wanted) > len(shape) or any(n not in (1, m) for n, m in zip(wanted, tail)):
        raise RuntimeError(f"size {list(wanted)} is not expandable to size {list(shape)}.")
    return unbroadcast(input, wanted)


def frexp(input: Tensor) -> Any:
    """mantissa * 2**exponent."""
    parts, powers = np.frexp(input._array)
    mantissa = input / Tensor(np.exp2(powers.astype(input._array.dtype)))
    mantissa._array[...] = parts
    return return_types.frexp(mantissa, Tensor(powers.astype(np.int32)))


def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, layout: Any = None, requires_grad: bool = False
) -> Tensor:
    from ..dtypes import default, to_numpy

    made = Tensor(np.asarray(s, default() if dtype is None else to_numpy(dtype)))
    return made.requires_grad_(requires_grad)


METHODS = attach(
    kron, cross, diag_embed, diagflat, diagonal_scatter, select_scatter, slice_scatter, addr, addbmm, vdot, dist,
    renorm, logcumsumexp, logdet, matrix_exp, frexp,
)  # fmt: skip
FUNCTIONS = named(
    block_diag, cartesian_prod, combinations, column_stack, trapezoid, cumulative_trapezoid, gradient, broadcast_shapes,
    unravel_index, scalar_tensor, trapz=trapezoid,
)  # fmt: skip
attach(sum_to_size)
