"""torch.sparse: sparse tensors are kept dense. Their numbers are torch's; their memory is that of the whole matrix.

What was made sparse says so (is_sparse, layout), and so does what sparse operations make of it. All other operations
give ordinary tensors, with the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import creation
from .absent import names_in
from .naming import attach
from .ops.shape import clone as _clone
from .tensor import Tensor

__getattr__ = names_in("torch.sparse")

Tensor.is_sparse_csr = False  # type: ignore[attr-defined]


class _Marked(Tensor):
    """A dense tensor that says it is sparse."""

    __slots__ = ()

    def __init__(self, tensor: Tensor):
        """Takes the place of a tensor nobody else holds, with its history."""
        super().__init__(tensor._array, requires_grad=tensor._requires_grad)
        self._node = tensor._node

    def detach(self) -> Tensor:
        return type(self)(super().detach())

    def clone(self, *args: Any, **kwargs: Any) -> Tensor:
        return type(self)(_clone(self, *args, **kwargs))


class _Coo(_Marked):
    __slots__ = ()
    is_sparse = True
    layout = "torch.sparse_coo"


class _Csr(_Marked):
    __slots__ = ()
    is_sparse_csr = True
    layout = "torch.sparse_csr"


class _Csc(_Marked):
    __slots__ = ()
    layout = "torch.sparse_csc"


_LAYOUTS: dict[Any, type[_Marked]] = {None: _Coo, **{kind.layout: kind for kind in (_Coo, _Csr, _Csc)}}


def _like(made: Tensor, *sources: Any) -> Tensor:
    """A result of sparse tensors alone is sparse."""
    return type(sources[0])(made) if all(isinstance(each, _Marked) for each in sources) else made


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
    return _Coo(made.detach().requires_grad_() if requires_grad else made)


def _compressed(kind: type[_Marked], ends: Any, inner: Any, values: Any, size: Any, dtype: Any, trains: bool) -> Tensor:
    """ends[i] … ends[i + 1] are the entries of row i (of column i in CSC); inner says where in it they lie."""
    ends, inner = (creation.as_tensor(each)._array.astype(np.int64) for each in (ends, inner))
    outer = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    if size is None:
        other = int(inner.max()) + 1 if inner.size else 0
        size = (len(ends) - 1, other) if kind is _Csr else (other, len(ends) - 1)
    places = np.stack([outer, inner] if kind is _Csr else [inner, outer])
    return kind(sparse_coo_tensor(places, values, size, dtype=dtype, requires_grad=trains))


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    return _compressed(_Csr, crow_indices, col_indices, values, size, dtype, requires_grad)


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    return _compressed(_Csc, ccol_indices, row_indices, values, size, dtype, requires_grad)


def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, **kwargs: Any) -> Tensor:
    return _LAYOUTS[layout](_clone(self))


def to_sparse_coo(self: Tensor) -> Tensor:
    return _Coo(_clone(self))


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    return _Csr(_clone(self))


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    return _Csc(_clone(self))


def to_dense(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return _clone(self) if isinstance(self, _Marked) else self


def coalesce(self: Tensor) -> Tensor:
    return self


def is_coalesced(self: Tensor) -> bool:
    return True


def indices(self: Tensor) -> Tensor:
    """The places of the entries that are not 0: (dims, entries)."""
    return self.nonzero().t()


def values(self: Tensor) -> Tensor:
    """The entries that are not 0, in the order of their layout."""
    dense = self.t() if isinstance(self, _Csc) else self
    return dense[dense.detach() != 0]


def crow_indices(self: Tensor) -> Tensor:
    """Where the entries of each row begin and end."""
    return Tensor(np.append(0, np.count_nonzero(self._array, axis=1).cumsum()))


def col_indices(self: Tensor) -> Tensor:
    return Tensor(np.nonzero(self._array)[1])


def ccol_indices(self: Tensor) -> Tensor:
    return crow_indices(self.t())


def row_indices(self: Tensor) -> Tensor:
    return col_indices(self.t())


def _nnz(self: Tensor) -> int:
    return int(np.count_nonzero(self._array))


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    if reduce != "sum":
        raise NotImplementedError(f"torch.sparse.mm on mytorch sums; reduce={reduce!r} is not there")
    return _like(mat1.matmul(mat2), mat1, mat2)


def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """A sparse result from a sparse and a dense matrix."""
    return _Coo(input.matmul(mat2))


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Over the entries alone: what is not there counts as minus infinity, and stays away."""
    return _over_entries(input, dim, dtype, "softmax")


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    return _over_entries(input, dim, dtype, "log_softmax")


def _over_entries(input: Tensor, dim: int, dtype: Any, name: str) -> Tensor:
    there = Tensor(input._array != 0)
    entries = input if dtype is None else input.to(dtype)
    kind = entries._array.dtype
    lowest = Tensor(np.asarray(np.finfo(kind).min / 2, kind))  # finite, so that a row without entries is not NaN
    shares = getattr(entries.where(there, lowest), name)(dim)
    return _Coo(shares.where(there, Tensor(np.zeros((), kind))))


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return mat * beta + mat1.matmul(mat2) * alpha


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    return input.sum(dtype=dtype) if dim is None else input.sum(dim, dtype=dtype)


def FloatTensor(indices: Any, values: Any, size: Any = None) -> Tensor:
    """In older scripts: sparse_coo_tensor."""
    return sparse_coo_tensor(indices, values, size)


attach(to_sparse, to_sparse_coo, to_sparse_csr, to_sparse_csc, to_dense, coalesce, is_coalesced, indices, values, _nnz)
attach(crow_indices, col_indices, ccol_indices, row_indices, smm)
