"""Rows of a table looked up by index, and indices as one-hot rows."""

from __future__ import annotations

import numpy as np

from mytorch.autograd import record
from mytorch.tensor import Tensor

__all__ = ["embedding", "embedding_bag", "one_hot"]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """input (...) of indices, weight (rows, D) -> (..., D). Row padding_idx gets no gradient."""
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    index, table = input._array, weight._array
    if table.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, but got {list(table.shape)}")
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"Expected tensor for argument #1 'indices' to be Long or Int, but got {input.dtype}")
    rows = len(table)
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if index.size and (index.min() < 0 or index.max() >= rows):
        raise IndexError(f"index out of range in self: the table has {rows} rows")

    def embedding_backward(g: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray]:
        gw = _summed_by_row(index.reshape(-1), g.reshape(index.size, shape[1]), shape[0])
        if counts is not None:
            gw /= np.maximum(counts, 1)[:, None]
        if padding_idx is not None:
            gw[padding_idx] = 0
        return (gw,)

    counts = np.bincount(index.reshape(-1), minlength=rows).astype(table.dtype) if scale_grad_by_freq else None

    def rows_of(gradient: np.ndarray) -> np.ndarray:
        if counts is not None:
            gradient = gradient / np.maximum(counts, 1)[:, None]
        out = gradient[index]
        if padding_idx is not None:
            out[index == padding_idx] = 0
        return out

    shape = table.shape
    return record(table[index], (weight,), embedding_backward, (input,), forward=rows_of)


def _renormalise(weight: Tensor, index: Tensor, max_norm: float, norm_type: float) -> None:
    """Scales the rows that will be read down, in place, to a norm of at most max_norm."""
    used = np.unique(index._array)
    norms = np.linalg.norm(weight._array[used], norm_type, axis=1)
    long = norms > max_norm
    weight._array[used[long]] *= (max_norm / (norms[long] + 1e-7))[:, None].astype(weight._array.dtype)
    weight._version[0] += 1


def _summed_by_row(index: np.ndarray, values: np.ndarray, rows: int) -> np.ndarray:
    """The table whose row i is the sum of the values whose index is i. Sorting is faster than np.add.at."""
    out = np.zeros((rows, values.shape[1]), values.dtype)
    if values.size:
        order = np.argsort(index, kind="stable")
        ordered = index[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        out[ordered[starts]] = np.add.reduceat(values[order], starts, axis=0)
    return out


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Rows looked up and reduced bag by bag: input (bags, n), or (n,) with the bags' first places as offsets."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, but got {mode}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights was not None, and is for mode='sum', not '{mode}'"
        )
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated as a mini-batch")
        starts = np.arange(len(input)) * input.shape[1]
        count = len(input)
    elif input.ndim == 1:
        if offsets is None or offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        starts = offsets._array
        count = len(starts) - int(include_last_offset)
        starts = starts[:count]
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    index = input.reshape(-1)
    n = index.numel()
    bag = np.searchsorted(starts, np.arange(n), "right") - 1 if count else np.zeros(n, np.int64)
    rows = embedding(index, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)  # (n, D)
    used = np.ones(n, bool) if padding_idx is None else index._array != padding_idx % len(weight)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    if not used.all():
        keep = Tensor(np.flatnonzero(used))
        rows, bag = rows[keep], bag[used]
    empty = Tensor(np.zeros((count, weight.shape[1]), weight._array.dtype))
    if mode == "max":
        places = Tensor(np.ascontiguousarray(np.broadcast_to(bag[:, None], rows.shape)))
        return empty.scatter_reduce(0, places, rows, "amax", include_self=False)
    total = empty.index_add(0, Tensor(bag), rows)
    if mode == "sum":
        return total
    sizes = np.maximum(np.bincount(bag, minlength=count), 1)
    return total / Tensor(sizes.astype(weight._array.dtype)[:, None])


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """int64 (...) -> int64 (..., num_classes)."""
    index = input._array
    if index.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if index.size and index.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        if not index.size:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(index.max()) + 1
    elif index.size and index.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return Tensor((index[..., None] == np.arange(num_classes)).astype(np.int64))
