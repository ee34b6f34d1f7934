"""The gamma function's family: its logarithm, the derivatives of that, and Hurwitz' zeta function behind them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..autograd import record
from ..naming import attach
from ..tensor import Tensor
from .broadcast import floating, promoted, quiet
from .normal import erfc_array
from .pointwise import refuse_complex, unary

# Lanczos' approximation with g = 7 and nine terms
_LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip


def lgamma_array(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    mirrored = wide < 0.5
    z = np.where(mirrored, 1 - wide, wide) - 1
    total = np.full_like(z, _LANCZOS[0])
    for i, c in enumerate(_LANCZOS[1:], 1):
        total += c / (z + i)
    t = z + 7.5
    out = 0.5 * math.log(2 * math.pi) + (z + 0.5) * np.log(t) - t + np.log(total)
    # gamma(x) gamma(1 - x) = pi / sin(pi x)
    out = np.where(
        mirrored, math.log(math.pi) - np.log(np.abs(np.sin(np.pi * np.where(mirrored, wide, 0.5)))) - out, out
    )
    pole = (wide <= 0) & (wide == np.floor(wide))
    out = np.where(pole | np.isinf(wide), np.inf, np.where((wide == 1) | (wide == 2), 0.0, out))
    return out.astype(x.dtype)


def _digamma_array(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    mirrored = wide < 0
    z = np.where(mirrored, 1 - wide, wide)
    out = np.zeros_like(z)
    for _ in range(10):  # up to where the series converges
        small = z < 10
        out -= np.where(small, 1 / np.where(z == 0, 1, z), 0)
        z = np.where(small, z + 1, z)
    s = 1 / (z * z)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132 - s * (691 / 32760 - s / 12))))))
    out += np.log(z) - 0.5 / z - series
    safe = np.where(mirrored, wide, 0.25)
    # psi(1 - x) - psi(x) = pi / tan(pi x)
    out = np.where(mirrored, out - np.pi / np.tan(np.pi * (safe - np.floor(safe))), out)
    pole = mirrored & (wide == np.floor(wide))
    out = np.where(pole, np.nan, out)
    return np.where(wide == 0, np.copysign(np.inf, -wide), out).astype(x.dtype)


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def zeta_array(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The sum of (q + k)^-s over k = 0, 1, ...: terms up to 12, then Euler and Maclaurin's formula."""
    kind = np.result_type(s, q)
    s, q = (v.astype(np.float64) for v in np.broadcast_arrays(s, q))
    with quiet(all="ignore"):
        at, total = q.copy(), np.zeros_like(q)
        for _ in range(int(max(0, np.nanmax(np.where(np.isfinite(q), 13 - q, 0), initial=0)))):
            small = at < 12
            total += np.where(small, at**-s, 0)
            at = np.where(small, at + 1, at)
        total += at ** (1 - s) / (s - 1) + 0.5 * at**-s
        factor = s * at ** (-s - 1)
        for j, b in enumerate(_BERNOULLI, 1):
            total += b / math.factorial(2 * j) * factor
            factor = factor * (s + 2 * j - 1) * (s + 2 * j) / (at * at)
    total = np.where(s == 1, np.inf, np.where(s < 1, np.nan, total))
    pole = (q <= 0) & (q == np.floor(q))
    total = np.where(pole, np.inf, np.where((q <= 0) & (s != np.floor(s)), np.nan, total))
    return total.astype(kind)


def zeta(input: Any, other: Any) -> Tensor:
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise TypeError("zeta(): needs a tensor, but got two numbers")
    s, q = promoted(input, other)
    s, q = floating(s), floating(q)
    out = zeta_array(s._array, q._array)

    def zeta_backward(g: np.ndarray, s: np.ndarray, q: np.ndarray) -> tuple:
        return None, g * -s * zeta_array(s + 1, q)

    return record(out, (s, q), zeta_backward, (s, q), again=lambda g, s, q: (None, g * -s * zeta(s + 1, q)))


def polygamma(n: Any, input: Any) -> Tensor:
    """The n-th derivative of digamma."""
    if not isinstance(n, int):
        n, input = input, n  # as a method: x.polygamma(n)
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, but got {n}")
    if n == 0:
        return digamma(input)
    input = floating(input)
    refuse_complex("polygamma", input)
    with quiet(all="ignore"):
        out = (-1) ** (n + 1) * math.factorial(n) * zeta_array(np.asarray(n + 1, input._array.dtype), input._array)
        if n == 1:  # by reflection, right for negative numbers too
            x = input._array.astype(np.float64)
            mirrored = (np.pi / np.sin(np.pi * x)) ** 2 - zeta_array(np.asarray(2.0), 1 - x)
            out = np.where(x < 0, mirrored, out)
    out = np.asarray(out, input._array.dtype)

    def polygamma_backward(g: np.ndarray, x: np.ndarray) -> tuple:
        return (g * polygamma(n + 1, Tensor(x))._array,)

    return record(out, (input,), polygamma_backward, (input,), again=lambda g, x: (g * polygamma(n + 1, x),))


def _either_polygamma(n: int, x: Any) -> Any:
    return polygamma(n, Tensor(x))._array if isinstance(x, np.ndarray) else polygamma(n, x)


def _either_digamma(x: Any) -> Any:
    return _digamma_array(x) if isinstance(x, np.ndarray) else digamma(x)


digamma = unary("digamma", _digamma_array, lambda x, y: _either_polygamma(1, x), real=True)
lgamma = unary("lgamma", lgamma_array, lambda x, y: _either_digamma(x), real=True)


def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the gamma function of p dimensions."""
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, but got {p}")
    x = floating(input)
    total = sum((lgamma(x - j / 2) for j in range(1, p)), start=lgamma(x))
    return total + p * (p - 1) / 4 * math.log(math.pi)


_LARGE = 1e4  # from here on the series below takes too many terms, and Temme's expansion needs few
_TEMME = (
    (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515),
    (-1 / 540, -1 / 288, 1 / 378, -77 / 77760),
    (25 / 6048, -139 / 51840),
)  # powers of eta, for 1, 1/a and 1/a²


def _upper_of_large(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The upper incomplete gamma function by Temme's expansion (DLMF 8.12), uniform in x, for large a."""
    m = (x - a) / a
    near = np.where(np.abs(m) < 0.01, m, 0)
    # half of eta² is m - log(1 + m), by its series where the difference has too few digits
    series = sum((-1) ** k * near**k / k for k in range(2, 11))
    half = np.where(np.abs(m) < 0.01, series, m - np.log1p(m))
    eta = np.copysign(np.sqrt(2 * half), m)
    small = np.clip(eta, -1, 1)  # further out exp(-a half) is 0
    rest = sum(np.polyval(row[::-1], small) / a**k for k, row in enumerate(_TEMME))
    return erfc_array(eta * np.sqrt(a / 2)) / 2 + np.exp(-a * half) / np.sqrt(2 * np.pi * a) * rest


def lower_and_upper(a: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The regularised incomplete gamma functions: a series below a + 1, a continued fraction above."""
    a, x = (v.astype(np.float64) for v in np.broadcast_arrays(a, x))
    with quiet(all="ignore"):
        front = np.exp(a * np.log(x) - x - lgamma_array(a))
        term = 1 / a
        series, k = term.copy(), a.copy()
        for _ in range(500):
            k = k + 1
            term = term * x / k
            series += term
            if np.all(np.abs(np.nan_to_num(term)) <= 1e-17 * np.abs(np.nan_to_num(series)) + 1e-300):
                break
        b = x + 1 - a
        c = np.full_like(x, 1e300)
        d = 1 / b
        fraction = d.copy()
        for i in range(1, 500):
            an = -i * (i - a)
            b = b + 2
            d = 1 / (an * d + b)
            c = b + an / c
            step = c * d
            fraction = fraction * step
            if np.all(np.abs(np.nan_to_num(step) - 1) < 1e-16):
                break
        small = x < a + 1
        lower = np.where(small, front * series, 1 - front * fraction)
        upper = np.where(small, 1 - front * series, front * fraction)
    if a.size and a.max() > _LARGE:
        with quiet(all="ignore"):
            upper = np.where(a > _LARGE, _upper_of_large(np.maximum(a, _LARGE), x), upper)
        lower = np.where(a > _LARGE, 1 - upper, lower)
    lower, upper = np.where(x == 0, 0.0, lower), np.where(x == 0, 1.0, upper)
    lower, upper = np.where(np.isinf(x), 1.0, lower), np.where(np.isinf(x), 0.0, upper)
    lower, upper = np.where((a == 0) & (x > 0), 1.0, lower), np.where((a == 0) & (x > 0), 0.0, upper)
    lower, upper = np.where(np.isinf(a), 0.0, lower), np.where(np.isinf(a), 1.0, upper)
    bad = (a < 0) | (x < 0) | ((a == 0) & (x == 0)) | (np.isinf(a) & np.isinf(x))
    return np.where(bad, np.nan, lower), np.where(bad, np.nan, upper)


def _incomplete(name: str, which: int) -> Any:
    sign = 1 if which == 0 else -1

    def slope(a: Any, x: Any) -> Any:
        """d/dx: x^(a-1) e^-x / gamma(a)."""
        if isinstance(a, np.ndarray):
            return np.exp((a - 1) * np.log(x) - x - lgamma_array(a))
        return ((a - 1) * x.log() - x - lgamma(a)).exp()

    def op(input: Tensor, other: Tensor) -> Tensor:
        a, x = (floating(t) for t in promoted(input, other))
        if a.requires_grad:
            raise NotImplementedError(
                f"the derivative of '{name}' with respect to its first argument is not implemented"
            )
        out = lower_and_upper(a._array, x._array)[which].astype(a._array.dtype)

        def backward(g: Any, a: Any, x: Any) -> tuple:
            return None, g * slope(a, x) * sign

        return record(out, (a, x), backward, (a, x), again=True)

    op.__name__ = op.__qualname__ = name
    return op


igamma, igammac = _incomplete("igamma", 0), _incomplete("igammac", 1)
METHODS = attach(lgamma, digamma, polygamma, mvlgamma, igamma, igammac)
