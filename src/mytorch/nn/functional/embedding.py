"""Rows of a table looked up by index, and indices as one-hot rows."""

from __future__ import annotations

import numpy as np

from mytorch.autograd import record
from mytorch.tensor import Tensor


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
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise NotImplementedError("mytorch has no max_norm, scale_grad_by_freq or sparse in embedding: leave them out")
    index, table = input._array, weight._array
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"Expected tensor for argument #1 'indices' to be Long or Int, but got {input.dtype}")
    rows = len(table)
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if index.size and (index.min() < 0 or index.max() >= rows):
        raise IndexError(f"index out of range in self: the table has {rows} rows")

    def embedding_backward(g: np.ndarray) -> tuple[np.ndarray]:
        gw = np.zeros_like(table)
        np.add.at(gw, index, g)
        if padding_idx is not None:
            gw[padding_idx] = 0
        return (gw,)

    return record(table[index], (weight,), embedding_backward, saved=(input,))


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 (...) -> int64 (..., num_classes)."""
    index = tensor._array
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
