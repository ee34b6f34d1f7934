"""The operations, by topic; each is a function of the package and a method of Tensor under one definition."""

from __future__ import annotations

from math import e, inf, nan, pi
from typing import Any

from . import compare, convert, elementwise, index, inplace, linalg, pointwise, reduce, shape

MODULES = (elementwise, pointwise, compare, reduce, shape, index, linalg, convert, inplace)
FUNCTIONS: dict[str, Any] = {
    name: function
    for module in MODULES
    for name, function in {**module.METHODS, **getattr(module, "FUNCTIONS", {})}.items()
    if not name.startswith("__")
}
__all__ = ["FUNCTIONS", "MODULES", "e", "inf", "nan", "pi"]
