"""torch.sparse: sparse tensors are kept dense. Their numbers are torch's; their memory is that of the whole matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import creation
from .absent import names_in
from .naming import attach
from .tensor import Tensor

__getattr__ = names_in("torch.sparse")


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """indices (sparse dims, entries) and values (entries, ...) -> a tensor of that size; values of one place add up."""
    places = creation.as_tensor(indices)._array.astype(np.int64)
    entries = creation.as_tensor(values, dtype=dtype)
    if places.ndim != 2 or places.shape[1] != entries.shape[0]:
        raise RuntimeError(
            f"number of dimensions and entries must match: indices {list(places.shape)}, values {list(entries.shape)}"
        )
    if size is None:
        size = (*(places.max(1) + 1).tolist(), *entries.shape[1:])
    shape = tuple(int(n) for n in size)
    lead = shape[: len(places)]
    if places.size and (places.min() < 0 or (places.max(1) >= lead).any()):
        raise RuntimeError(
            f"size is inconsistent with indices: size {list(shape)}, largest index {places.max(1).tolist()}"
        )
    flat = Tensor(np.ravel_multi_index(tuple(places), lead))
    empty = creation.zeros(int(np.prod(lead)), *shape[len(lead) :], dtype=entries.dtype)
    made = empty.index_add(0, flat, entries).reshape(shape)
    return made.detach().requires_grad_() if requires_grad else made


def to_sparse(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return self


def to_dense(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return self


def coalesce(self: Tensor) -> Tensor:
    return self


def is_coalesced(self: Tensor) -> bool:
    return True


def indices(self: Tensor) -> Tensor:
    """The places of the entries that are not 0: (dims, entries)."""
    return self.nonzero().t()


def values(self: Tensor) -> Tensor:
    """The entries that are not 0."""
    return self[self.detach() != 0]


def _nnz(self: Tensor) -> int:
    return int(np.count_nonzero(self._array))


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    if reduce != "sum":
        raise NotImplementedError(f"torch.sparse.mm on mytorch sums; reduce={reduce!r} is not there")
    return mat1.matmul(mat2)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return mat * beta + mat1.matmul(mat2) * alpha


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    return input.sum(dtype=dtype) if dim is None else input.sum(dim, dtype=dtype)


def FloatTensor(indices: Any, values: Any, size: Any = None) -> Tensor:
    """In older scripts: sparse_coo_tensor."""
    return sparse_coo_tensor(indices, values, size)


attach(to_sparse, to_dense, coalesce, is_coalesced, indices, values, _nnz)
