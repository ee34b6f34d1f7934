"""Signs, exponents, neighbours and divisors of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record
from ..naming import attach
from ..tensor import Tensor
from . import either
from .broadcast import floating, promoted, quiet, unbroadcast
from .pointwise import exp2, sign


def sgn(input: Tensor) -> Tensor:
    """The sign; of a complex number its direction, x / |x|."""
    x = input._array
    if x.dtype.kind != "c":
        return sign(input)
    length = np.abs(x)
    some = np.where(length == 0, 1, length)
    out = x / some

    def sgn_backward(g: np.ndarray) -> tuple:  # what of g turns the direction
        return (np.where(length == 0, 0, g - (g * out.conj()).real * out) / some,)

    return record(out, (input,), sgn_backward)


def copysign(input: Tensor, other: Any) -> Tensor:
    """The size of input with the sign of other."""
    a, b = (floating(t) for t in promoted(input, other))
    with quiet(all="ignore"):
        flips = np.where(a._array == 0, 0, np.copysign(1, a._array) * np.copysign(1, b._array)).astype(a._array.dtype)
        out = np.copysign(a._array, b._array)
    sa, sb = a._array.shape, b._array.shape
    signs = Tensor(np.asarray(flips))

    def copysign_backward(g: Any, signs: Any) -> tuple:
        return unbroadcast(g * signs, sa), either.like(g, np.zeros(sb))  # other's size does not matter

    return record(out, (a, b), copysign_backward, (signs,), again=True)


def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input * 2**other"""
    return floating(input) * exp2(floating(other))


def nextafter(input: Tensor, other: Tensor) -> Tensor:
    input, other = promoted(input, other)
    a, b = input._array, other._array
    if a.dtype.kind != "f":
        raise NotImplementedError(f"nextafter takes floating-point numbers, but got {input.dtype}")
    same = Tensor(np.equal(a, b))  # a step so small that the slope is 1, or other itself
    sa, sb = a.shape, b.shape

    def nextafter_backward(g: Any, same: Any) -> tuple:
        mask = either.values(same)
        return unbroadcast(either.where(mask, 0.0, g), sa), unbroadcast(either.where(mask, g, 0.0), sb)

    return record(np.nextafter(a, b), (input, other), nextafter_backward, (same,), again=True)


def gcd(input: Tensor, other: Tensor) -> Tensor:
    a, b = promoted(input, other)
    return Tensor(np.asarray(np.gcd(a._array, b._array)))


def lcm(input: Tensor, other: Tensor) -> Tensor:
    a, b = promoted(input, other)
    return Tensor(np.asarray(np.lcm(a._array, b._array)))


METHODS = attach(sgn, copysign, ldexp, nextafter, gcd, lcm)
