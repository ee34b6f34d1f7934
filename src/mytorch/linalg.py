"""torch.linalg: the norms and the product."""

from __future__ import annotations

from typing import Any

from .dtypes import unsupported
from .ops.linalg import matmul
from .ops.statistics import norm as _norm
from .tensor import Tensor

__all__ = ["matmul", "norm", "vector_norm"]


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    return _norm(x, ord, dim, keepdim, dtype)


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    dims = A.ndim if dim is None else 1 if isinstance(dim, int) else len(dim)
    if ord not in (None, "fro") and dims == 2:
        raise NotImplementedError(f"mytorch's linalg.norm has the Frobenius norm of matrices, not ord={ord!r}")
    return _norm(A, 2 if ord in (None, "fro") else ord, dim, keepdim, dtype)


def __getattr__(name: str) -> Any:
    raise unsupported(f"torch.linalg.{name}")
