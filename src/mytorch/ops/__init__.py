"""The operations, by topic; each is a function of the package and a method of Tensor under one definition."""

from __future__ import annotations

from typing import Any

from ..naming import public
from . import (
    arrange,
    bessel,
    combine,
    compare,
    complex,
    composed,
    convert,
    copies,
    elementwise,
    gamma,
    gather,
    index,
    inplace,
    linalg,
    matrices,
    normal,
    numbers,
    order,
    pointwise,
    reduce,
    scatter,
    scatter_reduce,
    shape,
    softmax,
    statistics,
)

# inplace has methods only: torch.add_ is not a function
MODULES = (
    elementwise, pointwise, compare, reduce, statistics, order, shape, arrange, index, gather, scatter,
    scatter_reduce, linalg, convert, normal,
    gamma, bessel, softmax, complex, combine, copies, matrices, numbers,
)  # fmt: skip
FUNCTIONS: dict[str, Any] = {
    name: function
    for module in (*MODULES, composed)
    for name, function in {**getattr(module, "METHODS", {}), **getattr(module, "FUNCTIONS", {})}.items()
    if not name.startswith("__")
}
_PUBLIC = {id(function): public(function) for function in FUNCTIONS.values()}  # one for all names a function has
FUNCTIONS = {name: _PUBLIC[id(function)] for name, function in FUNCTIONS.items()}
__all__ = ["FUNCTIONS", "MODULES", "inplace"]
