"""NumPy's functions for arrays, tensor operations for tensors: a backward formula written with these works on both.

An ordinary backward pass computes with arrays; with create_graph=True the same formula runs on tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ndarray, number = np.ndarray, np.generic


def _either(name: str, numpy_name: str | None = None) -> Any:
    on_arrays = getattr(np, numpy_name or name)

    def call(x: Any) -> Any:
        return on_arrays(x) if isinstance(x, (ndarray, number)) else getattr(x, name)()

    call.__name__ = call.__qualname__ = name
    return call


exp, log, sqrt, sin, cos = (_either(name) for name in ("exp", "log", "sqrt", "sin", "cos"))
sinh, cosh, sign, tanh = (_either(name) for name in ("sinh", "cosh", "sign", "tanh"))
conj, absolute = _either("conj"), _either("absolute")


def where(condition: np.ndarray, a: Any, b: Any) -> Any:
    """a where the (constant) condition holds, else b; one of the two may be a number."""
    if isinstance(a, (ndarray, number, int, float)) and isinstance(b, (ndarray, number, int, float)):
        return np.where(condition, a, b)
    from ..tensor import Tensor
    from .pointwise import where as choose

    return choose(Tensor(np.asarray(condition)), a, b)


def values(x: Any) -> Any:
    """The numbers of an array or a tensor, for what is constant in a formula."""
    return x if isinstance(x, (ndarray, number)) else x._array


def zeros(x: Any) -> Any:
    """Zeros of the same kind and shape."""
    return np.zeros_like(x) if isinstance(x, (ndarray, number)) else x.new_zeros(x.shape)


def expand(x: Any, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(x, shape) if isinstance(x, (ndarray, number)) else x.expand(shape)


def unsqueeze(x: Any, axes: tuple[int, ...]) -> Any:
    """New dims of size 1 at these places of the result."""
    if isinstance(x, (ndarray, number)):
        return np.expand_dims(x, axes)
    for axis in sorted(axes):
        x = x.unsqueeze(axis)
    return x


def like(x: Any, constant: np.ndarray) -> Any:
    """A constant of the formula as what x is, in x's dtype."""
    if isinstance(x, (ndarray, number)):
        return constant.astype(x.dtype)
    from ..tensor import Tensor

    return Tensor(constant.astype(x._array.dtype))
