"""How operations get their names: as methods of Tensor, as functions of the package, and with NumPy's arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .tensor import Tensor


def numpy_names(function: Callable) -> Callable:
    """Accept NumPy's names axis and keepdims for dim and keepdim, and accept out, as torch does."""

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
        return result if out is None else _put(result, out, function.__name__)

    return call


NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
NUMPY_NAMES |= dict.fromkeys(("indices", "sections"), "indices_or_sections")  # one parameter for torch's overloads


def _renamed(kwargs: dict, names: tuple) -> dict:
    """Keyword arguments in torch's names, where NumPy's were given, as torch itself allows."""
    return {
        torchs if name not in names and (torchs := NUMPY_NAMES.get(name, name)) in names else name: value
        for name, value in kwargs.items()
    }


def public(function: Callable) -> Callable:
    """An operation as a function of the package: what must be a tensor is checked, and `out` is filled if given."""
    inner: Any = getattr(function, "__wrapped__", function)
    if not hasattr(inner, "__code__"):
        return function
    code = inner.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    places = [(i, n) for i, n in enumerate(names[: code.co_argcount]) if inner.__annotations__.get(n) == "Tensor"]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for i, name in places:
            if i < len(args) and not isinstance(args[i], Tensor):
                raise TypeError(
                    f"{inner.__name__}(): argument '{name}' (position {i + 1}) must be Tensor, not "
                    f"{type(args[i]).__name__}"
                )
        if not kwargs:
            return function(*args)
        out = kwargs.pop("out", None)
        result = function(*args, **_renamed(kwargs, names))
        return result if out is None else _put(result, out, inner.__name__)

    return call


def _put(result: Any, out: Any, name: str) -> Any:
    """Write the result into `out`, which is resized if its shape differs."""
    if isinstance(out, (tuple, list)):
        for part, place in zip(result, out):
            _put(part, place, name)
        return out
    made, kept = result._array, out._array
    # torch lets a result be written only where no information is lost
    order = "biufc"
    if order.index(made.dtype.kind) > order.index(kept.dtype.kind) or (name in EXACT and made.dtype != kept.dtype):
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead")
    if kept.shape != made.shape:
        out.resize_(made.shape)
    return out.copy_(result)


EXACT = {"gather", "aminmax", "amax", "amin", "complex", "polar", "take", "index_select", "mean", "take_along_dim"}


def named(*functions: Callable, **aliases: Any) -> dict[str, Any]:
    return {f.__name__: f for f in functions} | aliases


def attach(*functions: Callable, **aliases: Any) -> dict[str, Any]:
    """Make functions (by their names, or the names given) methods of Tensor; the table is returned."""
    table = named(*functions, **aliases)
    for name, function in table.items():
        setattr(Tensor, name, function)
    return table
