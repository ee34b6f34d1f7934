"""Bessel functions, from their integrals: the trapezium rule is exact to the last digits for these integrands."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..naming import attach
from ..tensor import Tensor
from . import either
from .pointwise import unary

_FAR = 30.0  # from here on Hankel's expansions have all digits


def _terms(order: int, x: np.ndarray) -> list[np.ndarray]:
    """Of Hankel's expansions (DLMF 10.17): a_k(n) / x^k."""
    terms = [np.ones_like(x)]
    for k in range(1, 25):
        terms.append(terms[-1] * ((4 * order**2 - (2 * k - 1) ** 2) / (8 * k)) / x)
    return terms


def _modified(order: int, scaled: bool) -> Any:
    """I_n(x) = 1/pi of the integral of exp(x cos t) cos(n t) over 0..pi; scaled by exp(-|x|)."""

    def function(x: np.ndarray) -> np.ndarray:
        wide = x.astype(np.float64)
        size = np.abs(wide)
        low, high = np.minimum(size, _FAR), np.maximum(size, _FAR)
        count = 150
        total = np.zeros_like(wide)
        for angle in (np.arange(count) + 0.5) * (np.pi / count):
            total += np.exp(low * (np.cos(angle) - 1)) * np.cos(order * angle)
        far = sum((-1) ** k * term for k, term in enumerate(_terms(order, high))) / np.sqrt(2 * np.pi * high)
        total = np.where(size > _FAR, far, total / count)
        if not scaled:  # in two steps: exp alone may overflow
            total = np.where(np.isinf(size), np.inf, total * np.exp(size / 2) * np.exp(size / 2))
        if order % 2:
            total = np.where(size == 0, wide, np.copysign(total, wide))
        return total.astype(x.dtype)

    return function


def _ordinary(order: int) -> Any:
    """J_n(x) = 1/pi of the integral of cos(n t - x sin t) over 0..pi."""

    def function(x: np.ndarray) -> np.ndarray:
        wide = x.astype(np.float64)
        size = np.abs(wide)
        low, high = np.clip(wide, -_FAR, _FAR), np.maximum(size, _FAR)
        count = 120
        total = np.zeros_like(wide)
        for angle in (np.arange(count) + 0.5) * (np.pi / count):
            total += np.cos(order * angle - low * np.sin(angle))
        terms = _terms(order, high)
        even, odd = (sum((-1) ** k * term for k, term in enumerate(terms[start::2])) for start in (0, 1))
        turn = high - (2 * order + 1) * np.pi / 4
        far = np.sqrt(2 / (np.pi * high)) * (even * np.cos(turn) - odd * np.sin(turn))
        if order % 2:
            far = np.copysign(1, wide) * far
            total = np.where(size == 0, wide, total)
        return np.where(np.isinf(wide), 0.0, np.where(size > _FAR, far, total / count)).astype(x.dtype)

    return function


def _second_kind(order: int, scaled: bool) -> Any:
    """K_n(x) is the integral of exp(-x cosh t) cosh(n t) over 0..inf; scaled by exp(x)."""

    def function(x: np.ndarray) -> np.ndarray:
        wide = x.astype(np.float64)
        safe = np.where(wide > 0, wide, 1.0)
        # beyond `reach` the integrand is below 1e-17 of its largest value
        reach = np.arccosh(1 + 45 / safe)
        steps = 400
        total = np.zeros_like(wide)
        for i in range(steps + 1):
            t = reach * (i / steps)
            total += np.exp(-safe * (np.cosh(t) - 1)) * np.cosh(order * t) * (0.5 if i in (0, steps) else 1.0)
        total *= reach / steps
        out = total if scaled else total * np.exp(-safe)
        return np.where(wide == 0, np.inf, np.where(wide < 0, np.nan, out)).astype(x.dtype)

    return function


def _slope_of_one(x: Any, zeroth: Any, first: Any) -> Any:
    """I_1'(x) = I_0(x) - I_1(x) / x, and 1/2 at 0."""
    flat = either.values(x) == 0
    return either.where(flat, 0.5, zeroth - first / either.where(flat, 1.0, x))


def _call(op: Any, x: Any) -> Any:
    return op(Tensor(x))._array if isinstance(x, np.ndarray) else op(x)


i0: Any = unary("i0", _modified(0, False), lambda x, y: _call(i1, x), real=True)
i1: Any = unary("i1", _modified(1, False), lambda x, y: _slope_of_one(x, _call(i0, x), y), real=True)
i0e: Any = unary("i0e", _modified(0, True), lambda x, y: _call(i1e, x) - either.sign(x) * y, real=True)
i1e: Any = unary(
    "i1e", _modified(1, True), lambda x, y: _slope_of_one(x, _call(i0e, x), y) - either.sign(x) * y, real=True
)


def _plain(name: str, function: Any) -> Any:
    """Without a gradient, as in torch."""

    def op(input: Tensor) -> Tensor:
        from .broadcast import floating, quiet

        with quiet(all="ignore"):
            return Tensor(np.asarray(function(floating(input)._array)))

    op.__name__ = op.__qualname__ = name
    return op


SPECIAL = {  # in torch.special only
    "bessel_j0": _plain("bessel_j0", _ordinary(0)),
    "bessel_j1": _plain("bessel_j1", _ordinary(1)),
    "modified_bessel_i0": _plain("modified_bessel_i0", _modified(0, False)),
    "modified_bessel_i1": _plain("modified_bessel_i1", _modified(1, False)),
    "modified_bessel_k0": _plain("modified_bessel_k0", _second_kind(0, False)),
    "modified_bessel_k1": _plain("modified_bessel_k1", _second_kind(1, False)),
    "scaled_modified_bessel_k0": _plain("scaled_modified_bessel_k0", _second_kind(0, True)),
    "scaled_modified_bessel_k1": _plain("scaled_modified_bessel_k1", _second_kind(1, True)),
    "spherical_bessel_j0": _plain("spherical_bessel_j0", lambda x: np.where(np.isinf(x), 0, np.sinc(x / np.pi))),
}
METHODS = attach(i0)
