"""Reductions over one, several or all dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import return_types
from ..autograd import record
from ..dtypes import INT64, to_numpy
from ..naming import attach, numpy_names
from ..tensor import Tensor
from . import either
from .broadcast import cast
from .pointwise import maximum, minimum


def axes_of(dim: Any, ndim: int) -> tuple[int, ...] | None:
    """The axes a `dim` argument names, counted from 0; None for all."""
    if dim is None:
        return None
    dims = (dim,) if isinstance(dim, (int, np.integer)) else tuple(dim)
    if not dims:
        return None
    axes = tuple([axis_of(d, ndim) for d in dims])
    if len(axes) > 1 and len(set(axes)) < len(axes):
        raise RuntimeError(f"dim {axes[0]} appears multiple times in the list of dims")
    return axes


def axis_of(dim: int, ndim: int) -> int:
    n = ndim or 1  # a 0-d tensor accepts dim 0 and -1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def spread(g: Any, shape: tuple[int, ...], axes: tuple[int, ...] | None, keepdim: bool) -> Any:
    """A reduced gradient repeated (as a view) along the reduced axes."""
    if axes is not None and not keepdim and shape:
        g = either.unsqueeze(g, axes)
    elif axes is None and keepdim:
        g = g.reshape(())
    return either.expand(g, shape)


@numpy_names
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    if dtype is not None:
        input = cast(input, to_numpy(dtype))
    a = input._array
    shape, axes = a.shape, axes_of(dim, a.ndim)
    out = a.sum(axis=axes if shape else None, keepdims=keepdim, dtype=INT64 if a.dtype.kind in "iub" else None)
    return record(out, (input,), lambda g: (spread(g, shape, axes, keepdim),), again=True)


@numpy_names
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    if dtype is not None:
        input = cast(input, to_numpy(dtype))
    a = input._array
    if a.dtype.kind != "f":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {input.dtype.legacy[:-6]}"
        )
    shape, axes = a.shape, axes_of(dim, a.ndim)
    out = a.sum(axis=axes if shape else None, keepdims=keepdim)
    n = a.size // (np.size(out) or 1)
    if n:
        out = out / n
    else:
        out = np.full_like(out, np.nan)
    return record(out, (input,), lambda g: (spread(g / n, shape, axes, keepdim),), again=True)


def _extreme(input: Tensor, dim: Any, keepdim: bool, where: Any, whole: Any, pair: Any) -> Any:
    """max and min: of everything, of two tensors, or along a dim with indices (the gradient goes to the one taken)."""
    a = input._array
    if isinstance(dim, Tensor):
        return pair(input, dim)
    if dim is None:
        if not a.size:
            raise RuntimeError(
                f"{whole.__name__.removeprefix('a')}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument."
            )
        out = whole(a)

        def extreme_backward(g: np.ndarray, a: np.ndarray, out: np.ndarray) -> tuple:
            hit = either.values(a) == either.values(out)  # torch shares the gradient among equals
            return ((g / np.count_nonzero(hit)) * either.like(g, hit),)

        return record(out, (input,), extreme_backward, (input,), True, again=True)
    axis, returned = axis_of(dim, a.ndim), getattr(return_types, whole.__name__.removeprefix("a"))
    if not a.ndim:
        return returned(record(a.copy(), (input,), lambda g: (g,), again=True), Tensor(np.zeros((), np.int64)))
    if not a.shape[axis]:
        name = whole.__name__.removeprefix("a")
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    at = np.expand_dims(where(a, axis=axis), axis)
    out = np.take_along_axis(a, at, axis)
    shape, squeezed = a.shape, out.shape if keepdim else tuple(np.delete(out.shape, axis))

    def extreme_dim_backward(g: np.ndarray) -> tuple:
        full = np.zeros(shape, g.dtype)
        np.put_along_axis(full, at, g.reshape(at.shape), axis)
        return (full,)

    values = record(
        out.reshape(squeezed),
        (input,),
        extreme_dim_backward,
        forward=lambda x: np.take_along_axis(x, at, axis).reshape(squeezed),
    )
    return returned(values, Tensor(at.reshape(squeezed)))


@numpy_names
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    return _extreme(input, dim if other is None else other, keepdim, np.argmax, np.max, maximum)


@numpy_names
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    return _extreme(input, dim if other is None else other, keepdim, np.argmin, np.min, minimum)


METHODS = attach(sum, mean, max, min)
