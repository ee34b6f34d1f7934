"""The operations, by topic; each is a function of the package and a method of Tensor under one definition."""

from __future__ import annotations

from typing import Any

from . import (
    arrange,
    compare,
    composed,
    convert,
    elementwise,
    gather,
    index,
    inplace,
    linalg,
    order,
    pointwise,
    reduce,
    shape,
    statistics,
)

# inplace has methods only: torch.add_ is not a function
MODULES = (elementwise, pointwise, compare, reduce, statistics, order, shape, arrange, index, gather, linalg, convert)
FUNCTIONS: dict[str, Any] = {
    name: function
    for module in (*MODULES, composed)
    for name, function in {**getattr(module, "METHODS", {}), **getattr(module, "FUNCTIONS", {})}.items()
    if not name.startswith("__")
}
__all__ = ["FUNCTIONS", "MODULES", "inplace"]
