"""The error function and the normal distribution. NumPy has neither."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..naming import attach
from ..tensor import Tensor
from . import either
from .pointwise import unary

_STEP, _END = 1 / 256, 6.0  # erf(6) is 1 to the last digit of a float64
_BLOCK = 1 << 16  # numbers at a time, so that a dozen passes stay in the cache
_SLOPE = 2 / math.sqrt(math.pi)  # of erf at 0


@cache
def _erf_table(kind: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    grid = np.arange(0, _END + _STEP / 2, _STEP)
    slopes = _SLOPE * np.exp(-grid * grid)
    return np.array([math.erf(p) for p in grid], kind), slopes.astype(kind)


# Of x up to 4, where erf is 1 in float32: x times a ratio of polynomials in x², the coefficients Eigen uses
_TOP = (-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
        -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02)  # fmt: skip
_BOTTOM = (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
           -1.42647390514189e-02)  # fmt: skip


@cache
def _monic(coefficients: tuple[float, ...], stretch: float) -> tuple[float, tuple[np.ndarray, ...]]:
    """A polynomial in (stretch x)² as one in x²: its first coefficient, and the others divided by that."""
    highest = len(coefficients) - 1
    moved = [c * stretch ** (2 * (highest - i)) for i, c in enumerate(coefficients)]
    return moved[0], tuple(np.array(c / moved[0], np.float32) for c in moved[1:])  # arrays: a float is converted anew


def scaled_erf(x: np.ndarray, out: np.ndarray, stretch: float = 1.0, size: float = 1.0, centre: float = 0.0) -> None:
    """out = centre + size * erf(stretch * x) of flat float32: as many passes over a block as erf alone takes."""
    (top, above), (bottom, below) = _monic(_TOP, stretch), _monic(_BOTTOM, stretch)
    factor = np.array(size * stretch * top / bottom, np.float32)
    square, sums = np.empty((2, min(x.size, _BLOCK)), np.float32)
    for start in range(0, x.size, _BLOCK):
        part = out[start : start + _BLOCK]
        q, total = square[: part.size], sums[: part.size]
        np.clip(x[start : start + _BLOCK], -4 / stretch, 4 / stretch, out=part)
        np.multiply(part, part, out=q)
        for step, coefficients in ((np.multiply, above), (np.divide, below)):
            np.add(q, coefficients[0], out=total)
            for c in coefficients[1:]:
                total *= q
                total += c
            step(part, total, out=part)
        part *= factor
        np.clip(part, -size, size, out=part)
        if centre:
            part += np.float32(centre)


def _erf_float32(x: np.ndarray) -> np.ndarray:
    flat = x.reshape(-1)
    out = np.empty_like(flat)
    scaled_erf(flat, out)
    return out.reshape(x.shape)


def erf_array(x: np.ndarray) -> np.ndarray:
    """In float64 Taylor's series around the nearest of 1537 points, exact to the last digit or two."""
    if x.dtype == np.float16:
        return erf_array(x.astype(np.float32)).astype(np.float16)
    if x.dtype == np.float32:
        return _erf_float32(x)
    values, slopes = _erf_table(x.dtype)
    flat = x.reshape(-1)
    out = np.empty_like(flat)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        size = np.minimum(np.abs(block), _END)
        near = np.rint(np.where(np.isnan(size), 0, size) * (1 / _STEP)).astype(np.intp)
        p = near * x.dtype.type(_STEP)
        d, q = size - p, p * p
        # The derivatives of erf are its slope times Hermite polynomials in p.
        series = (2 * q - 1) / 3
        series += d * (p * (3 - 2 * q) / 6 + d * ((q * (4 * q - 12) + 3) / 30))
        series = values[near] + slopes[near] * (d * (1 + d * (d * series - p)))
        np.copysign(series, block, out=out[start : start + _BLOCK])
    return out.reshape(x.shape)


def erfcx_array(x: np.ndarray) -> np.ndarray:
    """exp(x²) (1 - erf(x)): a continued fraction from 2 on, where the difference has too few digits."""
    wide = x.astype(np.float64)
    large = np.maximum(wide, 2.0)
    tail = np.zeros_like(large)
    for k in range(60, 0, -1):
        tail = (k / 2) / (large + tail)
    far = 1 / (math.sqrt(math.pi) * (large + tail))
    small = np.minimum(wide, 2.0)
    near = np.exp(small * small) * (1 - erf_array(small))
    return np.where(wide > 2.0, far, near).astype(x.dtype)


def erfc_array(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    far = np.exp(-wide * wide) * erfcx_array(np.maximum(wide, 0))
    return np.where(wide > 2, far, 1 - erf_array(wide)).astype(x.dtype)


# Wichura's algorithm AS 241: ratios of polynomials for the middle, the tails and the far tails
_MIDDLE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
     3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
_TAIL = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
     1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_FAR = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def _ratio(r: np.ndarray, pair: tuple) -> np.ndarray:
    top, bottom = (np.polynomial.polynomial.polyval(r, c) for c in pair)
    return top / bottom


def _normal_quantile(q: np.ndarray, tail: np.ndarray) -> np.ndarray:
    """Of p = q + 1/2, whose distance from the nearer end is `tail`."""
    middle = q * _ratio(0.180625 - q * q, _MIDDLE)
    r = np.sqrt(-np.log(tail))
    outside = np.where(r <= 5, _ratio(r - 1.6, _TAIL), _ratio(r - 5, _FAR))
    outside = np.where(tail == 0, np.inf, outside)
    return np.where(np.abs(q) <= 0.425, middle, np.copysign(outside, q))


def _erfinv_array(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    out = _normal_quantile(wide / 2, (1 - np.abs(wide)) / 2) / math.sqrt(2)
    return np.where(np.abs(wide) > 1, np.nan, out).astype(x.dtype)


def _ndtri_array(p: np.ndarray) -> np.ndarray:
    wide = p.astype(np.float64)
    out = _normal_quantile(wide - 0.5, np.minimum(wide, 1 - wide))
    return np.where((wide < 0) | (wide > 1), np.nan, out).astype(p.dtype)


def _log_ndtr_array(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    half = wide / math.sqrt(2)
    below = np.log(erfcx_array(np.maximum(-half, 0)) / 2) - half * half
    above = np.log1p(-erfc_array(half) / 2)
    return np.where(wide < -1, below, above).astype(x.dtype)


erf = unary("erf", erf_array, lambda x, y: either.exp(-x * x) * _SLOPE, real=True)
erfc = unary("erfc", erfc_array, lambda x, y: either.exp(-x * x) * -_SLOPE, real=True)
erfcx = unary("erfcx", erfcx_array, lambda x, y: 2 * x * y - _SLOPE, real=True)
erfinv = unary("erfinv", _erfinv_array, lambda x, y: either.exp(y * y) / _SLOPE, real=True)
ndtri = unary("ndtri", _ndtri_array, lambda x, y: either.exp(y * y / 2) * math.sqrt(2 * math.pi), real=True)
log_ndtr = unary(
    "log_ndtr", _log_ndtr_array, lambda x, y: either.exp(-x * x / 2 - y) / math.sqrt(2 * math.pi), real=True
)


def ndtr(input: Tensor) -> Tensor:
    """The area under the normal density up to x."""
    return erfc(input * -math.sqrt(0.5)) * 0.5


METHODS: dict[str, Any] = attach(erf, erfc, erfinv)
