"""torch.return_types: the named tuples of functions with several results, which print as torch's do."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from .dtypes import unsupported


class _Returned:
    __slots__ = ()
    _fields: tuple[str, ...]

    def __repr__(self) -> str:
        values = ",\n".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"torch.return_types.{type(self).__name__}(\n{values})"


def _returned(name: str, *fields: str) -> Any:
    return type(name, (_Returned, namedtuple(name, fields)), {"__slots__": (), "__module__": __name__})


max, min, median, nanmedian, mode, sort, topk, kthvalue, cummax, cummin = (
    _returned(name, "values", "indices")
    for name in ("max", "min", "median", "nanmedian", "mode", "sort", "topk", "kthvalue", "cummax", "cummin")
)
aminmax = _returned("aminmax", "min", "max")
frexp = _returned("frexp", "mantissa", "exponent")
histogram = _returned("histogram", "hist", "bin_edges")
svd, qr = _returned("svd", "U", "S", "V"), _returned("qr", "Q", "R")
slogdet, linalg_slogdet = (_returned(name, "sign", "logabsdet") for name in ("slogdet", "linalg_slogdet"))
triangular_solve = _returned("triangular_solve", "solution", "cloned_coefficient")
linalg_qr, linalg_svd = _returned("linalg_qr", "Q", "R"), _returned("linalg_svd", "U", "S", "Vh")
linalg_eig, linalg_eigh = (_returned(name, "eigenvalues", "eigenvectors") for name in ("linalg_eig", "linalg_eigh"))
linalg_cholesky_ex, linalg_inv_ex = (
    _returned("linalg_cholesky_ex", "L", "info"),
    _returned("linalg_inv_ex", "inverse", "info"),
)
linalg_solve_ex = _returned("linalg_solve_ex", "result", "info")
linalg_lstsq = _returned("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu_factor = _returned("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _returned("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_lu, lu_unpack = (_returned(name, "P", "L", "U") for name in ("linalg_lu", "lu_unpack"))


def __getattr__(name: str) -> Any:
    raise unsupported(f"torch.return_types.{name}")
