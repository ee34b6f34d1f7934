"""Functions of one element (and choices between two), each beside its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record
from ..naming import attach, named
from ..tensor import Tensor
from .broadcast import cast, floating, mismatch, promoted, quiet, unbroadcast


def unary(name: str, function: Any, slope: Any) -> Any:
    """y = function(x) with slope(x, y) = dy/dx, integers taken as floats first."""

    def op(input: Tensor) -> Tensor:
        input = floating(input)
        x = input._array
        with quiet(all="ignore"):
            y = function(x)
        return record(y, (input,), lambda g: (g * slope(x, y),), (input,), True)

    op.__name__ = op.__qualname__ = name
    return op


sin = unary("sin", np.sin, lambda x, y: np.cos(x))
cos = unary("cos", np.cos, lambda x, y: -np.sin(x))
tan = unary("tan", np.tan, lambda x, y: 1 + y * y)
asin = unary("asin", np.arcsin, lambda x, y: 1 / np.sqrt(1 - x * x))
acos = unary("acos", np.arccos, lambda x, y: -1 / np.sqrt(1 - x * x))
atan = unary("atan", np.arctan, lambda x, y: 1 / (1 + x * x))
sinh = unary("sinh", np.sinh, lambda x, y: np.cosh(x))
cosh = unary("cosh", np.cosh, lambda x, y: np.sinh(x))
asinh = unary("asinh", np.arcsinh, lambda x, y: 1 / np.sqrt(x * x + 1))
acosh = unary("acosh", np.arccosh, lambda x, y: 1 / np.sqrt(x * x - 1))
atanh = unary("atanh", np.arctanh, lambda x, y: 1 / (1 - x * x))
log2 = unary("log2", np.log2, lambda x, y: 1 / (x * x.dtype.type(np.log(2))))
log10 = unary("log10", np.log10, lambda x, y: 1 / (x * x.dtype.type(np.log(10))))
log1p = unary("log1p", np.log1p, lambda x, y: 1 / (1 + x))
expm1 = unary("expm1", np.expm1, lambda x, y: y + 1)
exp2 = unary("exp2", np.exp2, lambda x, y: y * y.dtype.type(np.log(2)))
rsqrt = unary("rsqrt", lambda x: 1 / np.sqrt(x), lambda x, y: -y * y * y / 2)
reciprocal = unary("reciprocal", lambda x: 1 / x, lambda x, y: -y * y)
deg2rad = unary("deg2rad", np.deg2rad, lambda x, y: np.deg2rad(np.ones_like(x)))
rad2deg = unary("rad2deg", np.rad2deg, lambda x, y: np.rad2deg(np.ones_like(x)))


def tanh(input: Tensor) -> Tensor:
    input = floating(input)
    y = np.tanh(input._array)
    return record(y, (input,), lambda g: (g * (1 - y * y),), saves_output=True)


def sigmoid_array(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)): where exp overflows to inf, the quotient is 0, as it should be."""
    with quiet(over="ignore"):
        return 1 / (1 + np.exp(-x))


def sigmoid(input: Tensor) -> Tensor:
    input = floating(input)
    with quiet(all="ignore"):
        y = sigmoid_array(input._array)
    return record(y, (input,), lambda g: (g * (y * (1 - y)),), saves_output=True)


def relu(input: Tensor) -> Tensor:
    y = np.maximum(input._array, 0)
    return record(y, (input,), lambda g: (g * (y > 0),), saves_output=True)


def abs(input: Tensor) -> Tensor:
    x = input._array
    return record(np.abs(x), (input,), lambda g: (g * np.sign(x),), (input,))


def square(input: Tensor) -> Tensor:
    x = input._array
    return record(x * x, (input,), lambda g: (g * (2 * x),), (input,))


def _step(name: str, function: Any) -> Any:
    """A piecewise constant function: the gradient is zero."""

    def op(input: Tensor) -> Tensor:
        with quiet(all="ignore"):
            return record(function(input._array), (input,), lambda g: (np.zeros_like(g),))

    op.__name__ = op.__qualname__ = name
    return op


floor = _step("floor", np.floor)
ceil = _step("ceil", np.ceil)
sign = _step("sign", lambda x: (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype))  # 0 for nan


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    return record(np.round(input._array, decimals), (input,), lambda g: (np.zeros_like(g),))


def frac(input: Tensor) -> Tensor:
    x = input._array
    return record(x - np.trunc(x), (input,), lambda g: (g,))


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        out = input if min is None else maximum(input, min)
        return out if max is None else minimum(out, max)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    x = input._array
    if x.dtype.kind in "iu" and (isinstance(min, float) or isinstance(max, float)):
        input = floating(input)
        x = input._array
    y = np.clip(x, min, max)
    return record(y, (input,), lambda g: (g * (x == y),), (input,), True)


def clip(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    return clamp(input, min, max)


def clamp_min(input: Tensor, min: Any) -> Tensor:
    return clamp(input, min)


def clamp_max(input: Tensor, max: Any) -> Tensor:
    return clamp(input, None, max)


def _pick(input: Tensor, other: Any, function: Any, beats: Any) -> Tensor:
    """maximum or minimum of two; where they are equal each gets half of the gradient, as in torch."""
    input, other = promoted(input, other)
    a, b = input._array, other._array
    try:
        out = function(a, b)
    except ValueError:
        raise mismatch(a.shape, b.shape) from None

    def pick_backward(g: np.ndarray) -> tuple:
        share = np.where(a == b, g.dtype.type(0.5), beats(a, b).astype(g.dtype))
        return unbroadcast(g * share, a.shape), unbroadcast(g * (1 - share), b.shape)

    return record(out, (input, other), pick_backward, (input, other))


def maximum(input: Tensor, other: Any) -> Tensor:
    return _pick(input, other, np.maximum, np.greater)


def minimum(input: Tensor, other: Any) -> Tensor:
    return _pick(input, other, np.minimum, np.less)


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of input where condition holds, of other elsewhere; with condition alone, where it holds."""
    if input is None and other is None:
        return tuple(Tensor(i) for i in np.nonzero(condition._array))
    mask = condition._array
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):  # two numbers: as if mixed into booleans
        input, other = promoted(Tensor(np.zeros((), np.bool_)), input)[1], other
    a, b = promoted(input, other)
    sa, sb = a._array.shape, b._array.shape
    try:
        out = np.where(mask, a._array, b._array)
    except ValueError:
        raise mismatch(sa, sb if sb else mask.shape) from None

    def where_backward(g: np.ndarray) -> tuple:
        zero = g.dtype.type(0)
        return unbroadcast(np.where(mask, g, zero), sa), unbroadcast(np.where(mask, zero, g), sb)

    return record(out, (a, b), where_backward, (condition,))


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    value = value if isinstance(value, Tensor) else Tensor(np.asarray(value, input._array.dtype))
    return where(mask, cast(value, input._array.dtype), input)


def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    return input + weight * (end - input)


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    return input + (tensor1 * tensor2 if value == 1 else tensor1 * tensor2 * value)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    return input + (tensor1 / tensor2 if value == 1 else tensor1 / tensor2 * value)


def remainder(input: Any, other: Any) -> Tensor:
    """What is left after floor division: it has the divisor's sign."""
    a, b = promoted(input, other)
    with quiet(all="ignore"):
        out = np.mod(a._array, b._array)
        times = -np.floor_divide(a._array, b._array)
    sa, sb = a._array.shape, b._array.shape
    return record(out, (a, b), lambda g: (unbroadcast(g, sa), unbroadcast(g * times, sb)))


def fmod(input: Tensor, other: Any) -> Tensor:
    """What is left after truncated division: it has the dividend's sign."""
    a, b = promoted(input, other)
    with quiet(all="ignore"):
        out = np.fmod(a._array, b._array)
    times = (out - a._array) / b._array
    sa, sb = a._array.shape, b._array.shape
    return record(out, (a, b), lambda g: (unbroadcast(g, sa), unbroadcast(g * np.round(times), sb)))


def rremainder(input: Tensor, other: Any) -> Tensor:
    return remainder(other, input)


def atan2(input: Tensor, other: Tensor) -> Tensor:
    y, x = promoted(input, other)
    a, b = y._array, x._array

    def atan2_backward(g: np.ndarray) -> tuple:
        g = g / (a * a + b * b)
        return unbroadcast(g * b, a.shape), unbroadcast(-g * a, b.shape)

    return record(np.arctan2(a, b), (y, x), atan2_backward, (y, x))


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    return where(condition, self, other)


METHODS = attach(
    sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, log2, log10, log1p, expm1, exp2, rsqrt,
    reciprocal, deg2rad, rad2deg, tanh, sigmoid, relu, abs, square, floor, ceil, sign, round, frac, clamp,
    clip, clamp_min, clamp_max, maximum, minimum, masked_fill, lerp, addcmul, addcdiv, remainder, fmod,
    atan2, arcsin=asin, arccos=acos, arctan=atan, absolute=abs, sgn=sign, __abs__=abs, __mod__=remainder,
    __rmod__=rremainder,
)  # fmt: skip
FUNCTIONS = named(where)
attach(where=_where_method)
