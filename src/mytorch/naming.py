"""How operations get their names: as methods of Tensor, as functions of the package, and with NumPy's arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .tensor import Tensor


def numpy_names(function: Callable) -> Callable:
    """Accept NumPy's axis and keepdims for dim and keepdim, and out, as torch does."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            return function(*args)
        if "axis" in kwargs:
            kwargs["dim"] = kwargs.pop("axis")
        if "keepdims" in kwargs:
            kwargs["keepdim"] = kwargs.pop("keepdims")
        out = kwargs.pop("out", None)
        result = function(*args, **kwargs)
        return result if out is None else out.copy_(result)

    return call


def named(*functions: Callable, **aliases: Any) -> dict[str, Any]:
    return {f.__name__: f for f in functions} | aliases


def attach(*functions: Callable, **aliases: Any) -> dict[str, Any]:
    """Make functions (by their names, or the names given) methods of Tensor; the table is returned."""
    table = named(*functions, **aliases)
    for name, function in table.items():
        setattr(Tensor, name, function)
    return table
