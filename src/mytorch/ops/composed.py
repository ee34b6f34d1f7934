"""Operations written with others: their gradients follow by themselves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..naming import attach, named, numpy_names
from ..tensor import Tensor
from .arrange import at_least, narrow
from .broadcast import cast, quiet
from .inplace import setitem
from .linalg import tensordot
from .order import sort
from .pointwise import where
from .reduce import axis_of
from .shape import cat, reshape, transpose, unsqueeze
from .statistics import amax, amin


class MinMax(NamedTuple):
    min: Tensor
    max: Tensor


def aminmax(input: Tensor, *, dim: Any = None, keepdim: bool = False) -> MinMax:
    return MinMax(amin(input, dim, keepdim), amax(input, dim, keepdim))


def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    top = input.maximum(other).detach()
    return ((input - top).exp() + (other - top).exp()).log() + top


def hypot(input: Tensor, other: Tensor) -> Tensor:
    return (input * input + other * other).sqrt()


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    x = input if eps is None else input.clamp(eps, 1 - eps)
    return (x / (1 - x)).log()


def xlogy(input: Tensor, other: Tensor) -> Tensor:
    """input * log(other), and 0 where input is 0."""
    return where(input == 0, input * 0, input * where(input == 0, other * 0 + 1, other).log())


@numpy_names
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    valid = cast(~input.isnan(), input._array.dtype)
    with quiet(all="ignore"):
        return input.nansum(dim, keepdim) / valid.sum(dim, keepdim)


def diff(input: Tensor, n: int = 1, dim: int = -1) -> Tensor:
    for _ in range(n):
        size = input._array.shape[dim]
        input = narrow(input, dim, 1, size - 1) - narrow(input, dim, 0, size - 1)
    return input


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """The distance of each row of x1 from each row of x2."""
    return (unsqueeze(x1, -2) - unsqueeze(x2, -3)).norm(p, dim=-1)


@numpy_names
def quantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Between the two nearest elements in order, interpolated linearly."""
    if isinstance(q, Tensor) and q._array.ndim:
        raise NotImplementedError("mytorch's quantile takes one q at a time")
    if not 0 <= float(q) <= 1:
        raise RuntimeError(f"quantile() q values must be in the range [0, 1], but got {float(q)}")
    axis = 0 if dim is None else axis_of(dim, input._array.ndim)
    ordered = sort(reshape(input, -1) if dim is None else input, axis)[0]
    at = float(q) * (ordered._array.shape[axis] - 1)
    low, high = int(np.floor(at)), int(np.ceil(at))
    a, b = narrow(ordered, axis, low, 1), narrow(ordered, axis, high, 1)
    found = a.lerp(b, at - low)
    if dim is None:
        return reshape(found, (1,) * input._array.ndim if keepdim else ())
    return found if keepdim else found.squeeze(axis)


def inner(input: Tensor, other: Tensor) -> Tensor:
    if not input._array.ndim or not other._array.ndim:
        return input * other
    return tensordot(input, other, ([-1], [-1]))


def cov(input: Tensor, *, correction: int = 1) -> Tensor:
    """Rows are variables, columns observations."""
    x = input - input.mean(-1, keepdim=True)
    return x @ transpose(x, 0, 1) / (x._array.shape[-1] - correction) if x._array.ndim == 2 else input.var()


def atleast_1d(input: Tensor) -> Tensor:
    return at_least(input, 1)


def atleast_2d(input: Tensor) -> Tensor:
    return at_least(input, 2)


def dstack(tensors: Any) -> Tensor:
    parts = [unsqueeze(at_least(t, 2), 2) if t._array.ndim < 3 else t for t in tensors]
    return cat(parts, 2)


def tril_indices(row: int, col: int, offset: int = 0) -> Tensor:
    return Tensor(np.stack(np.tril_indices(row, offset, col)))


def triu_indices(row: int, col: int, offset: int = 0) -> Tensor:
    return Tensor(np.stack(np.triu_indices(row, offset, col)))


def index_put_(self: Tensor, indices: tuple, values: Tensor) -> Tensor:
    setitem(self, tuple(indices), values)
    return self


def fill_diagonal_(self: Tensor, fill_value: Any) -> Tensor:
    n = Tensor(np.arange(min(self._array.shape)))
    setitem(self, (n,) * self._array.ndim, fill_value)
    return self


METHODS = attach(aminmax, logaddexp, hypot, logit, xlogy, nanmean, diff, quantile, inner, cov)
FUNCTIONS = named(cdist, atleast_1d, atleast_2d, dstack, tril_indices, triu_indices)
attach(index_put_, fill_diagonal_)
