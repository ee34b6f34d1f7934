"""Functions of one element (and choices between two), each beside its derivative."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..autograd import record
from ..dtypes import INT64
from ..naming import attach, named
from ..parallel import BLOCK, elementwise
from ..tensor import Tensor
from . import either
from .broadcast import cast, floating, mismatch, promoted, quiet, unbroadcast
from .elementwise import _refuse_zero


def refuse_complex(name: str, input: Tensor) -> None:
    if input._array.dtype.kind == "c":
        raise NotImplementedError(f"{name} is not implemented for complex numbers")


def unary(name: str, function: Any, slope: Any, real: bool = False) -> Any:
    """y = function(x) with slope(x, y) = dy/dx, integers as floats first; `real`: not for complex ones."""

    def backward(g: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple:
        return (g * slope(x, y),)

    def op(input: Tensor) -> Tensor:
        input = floating(input)
        if real:
            refuse_complex(name, input)
        with quiet(all="ignore"):
            y = function(input._array)
        return record(y, (input,), backward, (input,), True, again=True)

    op.__name__ = op.__qualname__ = backward.__qualname__ = name
    return op


sin = unary("sin", np.sin, lambda x, y: either.cos(x))
cos = unary("cos", np.cos, lambda x, y: -either.sin(x))
tan = unary("tan", np.tan, lambda x, y: 1 + y * y)
asin = unary("asin", np.arcsin, lambda x, y: 1 / either.sqrt(1 - x * x))
acos = unary("acos", np.arccos, lambda x, y: -1 / either.sqrt(1 - x * x))
atan = unary("atan", np.arctan, lambda x, y: 1 / (1 + x * x))
sinh = unary("sinh", np.sinh, lambda x, y: either.cosh(x))
cosh = unary("cosh", np.cosh, lambda x, y: either.sinh(x))
asinh = unary("asinh", np.arcsinh, lambda x, y: 1 / either.sqrt(x * x + 1))
acosh = unary("acosh", np.arccosh, lambda x, y: 1 / either.sqrt(x * x - 1))
atanh = unary("atanh", np.arctanh, lambda x, y: 1 / (1 - x * x))
log2 = unary("log2", np.log2, lambda x, y: 1 / (x * float(np.log(2))))
log10 = unary("log10", np.log10, lambda x, y: 1 / (x * float(np.log(10))))
log1p = unary("log1p", np.log1p, lambda x, y: 1 / (1 + x))
expm1 = unary("expm1", np.expm1, lambda x, y: y + 1)
exp2 = unary("exp2", np.exp2, lambda x, y: y * float(np.log(2)))
rsqrt = unary("rsqrt", lambda x: 1 / np.sqrt(x), lambda x, y: -y * y * y / 2)
reciprocal = unary("reciprocal", lambda x: 1 / x, lambda x, y: -y * y)
deg2rad = unary("deg2rad", np.deg2rad, lambda x, y: float(np.pi / 180), real=True)
rad2deg = unary("rad2deg", np.rad2deg, lambda x, y: float(180 / np.pi), real=True)


def _tanh_backward(g: np.ndarray, y: np.ndarray) -> tuple:
    return (g * (1 - y * y),)


def tanh(input: Tensor) -> Tensor:
    input = floating(input)
    return record(np.tanh(input._array), (input,), _tanh_backward, saves_output=True, again=True)


def sigmoid_array(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)): where exp overflows to inf, the quotient is 0, as it should be."""
    with quiet(over="ignore"):
        return 1 / (1 + np.exp(-x))


def _sigmoid_backward(g: np.ndarray, y: np.ndarray) -> tuple:
    return (g * (y * (1 - y)),)


def sigmoid(input: Tensor) -> Tensor:
    input = floating(input)
    with quiet(all="ignore"):
        y = sigmoid_array(input._array)
    return record(y, (input,), _sigmoid_backward, saves_output=True, again=True)


def _relu_backward(g: np.ndarray, y: np.ndarray) -> tuple:
    if isinstance(g, Tensor) or y.size <= BLOCK:
        return (g * (y > 0),)
    out = np.empty_like(y)
    elementwise(lambda g, y, out: np.multiply(g, y > 0, out=out), g, y, out)
    return (out,)


def relu(input: Tensor) -> Tensor:
    x = input._array
    if x.dtype.kind in "bc":
        refuse_complex("relu", input)
        raise RuntimeError("Boolean inputs not supported for relu: convert to float first")
    if x.size <= BLOCK:
        out = np.maximum(x, 0)
    else:
        out = np.empty_like(x)
        elementwise(lambda x, out: np.maximum(x, 0, out=out), x, out)
    return record(out, (input,), _relu_backward, saves_output=True, again=True)


for _function, _name in ((_tanh_backward, "tanh"), (_sigmoid_backward, "sigmoid"), (_relu_backward, "relu")):
    _function.__qualname__ = _name  # what grad_fn shows


def abs(input: Tensor) -> Tensor:
    x = input._array
    if x.dtype.kind == "c":
        length = np.abs(x)
        direction = x / np.where(length == 0, 1, length)
        return record(length, (input,), lambda g: (g * direction,))
    return record(np.abs(x), (input,), lambda g, x: (g * either.sign(x),), (input,), again=True)


def square(input: Tensor) -> Tensor:
    x = input._array
    if x.dtype.kind == "b":
        return cast(input, INT64)
    return record(x * x, (input,), lambda g, x: (g * (2 * x),), (input,), again=True)


def _zero(g: Any) -> tuple:
    return (either.zeros(g),)


def _step(name: str, function: Any) -> Any:
    """A piecewise constant function: the gradient is zero."""

    def op(input: Tensor) -> Tensor:
        refuse_complex(name, input)
        with quiet(all="ignore"):
            return record(function(input._array), (input,), _zero, again=True)

    op.__name__ = op.__qualname__ = name
    return op


floor = _step("floor", lambda x: np.floor(x) if x.dtype.kind == "f" else x.copy())
ceil = _step("ceil", lambda x: np.ceil(x) if x.dtype.kind == "f" else x.copy())
sign = _step("sign", lambda x: (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype) if x.dtype.kind != "b" else x.copy())


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    refuse_complex("round", input)
    return record(np.round(input._array, decimals), (input,), _zero, again=True)


def frac(input: Tensor) -> Tensor:
    x = input._array
    return record(x - np.trunc(x), (input,), lambda g: (g,), again=True)


def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
    input = floating(input)
    at_zero = input == 0
    angle = where(at_zero, input * 0 + 1, input) * float(np.pi)
    # next to 0 the series 1 - (pi x)^2 / 6, so that the derivatives at 0 are right too
    return where(at_zero, 1 - (input * float(np.pi)) ** 2 / 6, sin(angle) / angle)


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return _clamp_tensors(input, min, max)
    refuse_complex("clamp", input)
    x = input._array
    if x.dtype.kind in "iu" and (isinstance(min, float) or isinstance(max, float)):
        input = floating(input)
        x = input._array
    y = np.clip(x, min, max) if min is None or max is None or min <= max else np.full_like(x, max)

    def clamp_backward(g: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple:
        return (g * (x == y),)

    return record(y, (input,), clamp_backward, (input,), True, again=True)


def _clamp_tensors(input: Tensor, min: Any, max: Any) -> Tensor:
    """With tensors for bounds: an element at or within its bounds passes its gradient on, else the bound gets it."""
    out = input
    for bound, beats in ((min, np.less), (max, np.greater)):
        if bound is None:
            continue
        a, b = promoted(out, bound)
        try:
            outside = beats(a._array, b._array)
        except ValueError:
            raise mismatch(a._array.shape, b._array.shape) from None
        out = where(Tensor(np.asarray(outside)), b, a)
    return out


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
    if a.dtype.kind == "c":
        raise RuntimeError(f"{function.__name__} not implemented for complex tensors.")
    try:
        out = function(a, b)
    except ValueError:
        raise mismatch(a.shape, b.shape) from None
    if out.dtype.kind != "f":
        return Tensor(np.asarray(out))
    sa, sb = a.shape, b.shape

    def pick_backward(g: Any, a: Any, b: Any) -> tuple:
        x, y = either.values(a), either.values(b)
        each = np.where(x == y, 0.5, 1.0)  # where one is nan neither beats the other, and both get all of it
        first, second = (either.like(g, np.where(lost, 0.0, each)) for lost in (beats(y, x), beats(x, y)))
        return unbroadcast(g * first, sa), unbroadcast(g * second, sb)

    return record(out, (input, other), pick_backward, (input, other), again=True)


def maximum(input: Tensor, other: Tensor) -> Tensor:
    return _pick(input, other, np.maximum, np.greater)


def minimum(input: Tensor, other: Tensor) -> Tensor:
    return _pick(input, other, np.minimum, np.less)


def fmax(input: Tensor, other: Tensor) -> Tensor:
    """Like maximum, but where one of the two is nan, the other one; the first where both are equal."""
    return _choice(input, other, lambda a, b: (a >= b) | np.isnan(b))


def fmin(input: Tensor, other: Tensor) -> Tensor:
    return _choice(input, other, lambda a, b: (a <= b) | np.isnan(b))


def _choice(input: Tensor, other: Tensor, first: Any) -> Tensor:
    a, b = promoted(input, other)
    try:
        return where(Tensor(np.asarray(first(a._array, b._array))), a, b)
    except ValueError:
        raise mismatch(a._array.shape, b._array.shape) from None


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of input where condition holds, of other elsewhere; with condition alone, where it holds."""
    if input is None and other is None:
        return tuple(Tensor(i) for i in np.nonzero(np.atleast_1d(condition._array)))
    mask = condition._array
    if mask.dtype == np.uint8:  # masks of early versions
        warnings.warn("where received a uint8 condition tensor; use a boolean condition instead.", stacklevel=2)
        mask = mask.astype(np.bool_)
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

    def where_backward(g: np.ndarray, mask: np.ndarray) -> tuple:
        mask = either.values(mask)
        return unbroadcast(either.where(mask, g, 0.0), sa), unbroadcast(either.where(mask, 0.0, g), sb)

    return record(out, (a, b), where_backward, (condition,), again=True)


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    kind = input._array.dtype.kind
    if mask._array.dtype.kind != "b":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} dims"
        )
    if (isinstance(value, complex) and kind != "c") or (isinstance(value, float) and kind in "iu" and value % 1):
        raise RuntimeError(f"value cannot be converted to type {input.dtype} without overflow")
    value = value if isinstance(value, Tensor) else Tensor(np.asarray(value, input._array.dtype))
    return where(mask, cast(value, input._array.dtype), input)


def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    return input + weight * (end - input)


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    product = promoted(tensor1, input)[0] * tensor2  # in the type of the result, where small integers do not overflow
    if product._array.dtype.kind in "iu":
        value = int(value)
    return input + (product if value == 1 else product * value)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    if all(t._array.dtype.kind in "iub" for t in (tensor1, tensor2)):
        raise RuntimeError("Integer division with addcdiv is no longer supported: convert to float first")
    return input + (tensor1 / tensor2 if value == 1 else tensor1 / tensor2 * value)


def remainder(input: Any, other: Any) -> Tensor:
    """What is left after floor division: it has the divisor's sign."""
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise TypeError("remainder(): needs a tensor, but got two numbers")
    a, b = promoted(input, other)
    if a._array.dtype.kind in "iu":
        _refuse_zero(b._array)
    try:
        with quiet(all="ignore"):
            out = np.mod(a._array, b._array)
            times = -np.floor_divide(a._array, b._array)
    except ValueError:
        raise mismatch(a._array.shape, b._array.shape) from None
    return _left_over(out, a, b, times)


def _left_over(out: np.ndarray, a: Tensor, b: Tensor, times: np.ndarray) -> Tensor:
    sa, sb = a._array.shape, b._array.shape
    steps = Tensor(np.asarray(times))

    def remainder_backward(g: np.ndarray, steps: np.ndarray) -> tuple:
        return unbroadcast(g, sa), unbroadcast(g * steps, sb)

    return record(out, (a, b), remainder_backward, (steps,), again=True)


def fmod(input: Tensor, other: Any) -> Tensor:
    """What is left after truncated division: it has the dividend's sign."""
    a, b = promoted(input, other)
    if a._array.dtype.kind in "iu":
        _refuse_zero(b._array)
    try:
        with quiet(all="ignore"):
            out = np.fmod(a._array, b._array)
            times = np.round((out - a._array) / b._array)
    except ValueError:
        raise mismatch(a._array.shape, b._array.shape) from None
    return _left_over(out, a, b, times)


def rremainder(input: Tensor, other: Any) -> Tensor:
    return remainder(other, input)


def atan2(input: Tensor, other: Tensor) -> Tensor:
    y, x = (floating(t) for t in promoted(input, other))
    sa, sb = y._array.shape, x._array.shape

    def atan2_backward(g: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple:
        g = g / (a * a + b * b)
        return unbroadcast(g * b, sa), unbroadcast(-g * a, sb)

    try:
        out = np.arctan2(y._array, x._array)
    except ValueError:
        raise mismatch(sa, sb) from None
    return record(out, (y, x), atan2_backward, (y, x), again=True)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    return where(condition, self, other)


METHODS = attach(
    sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, log2, log10, log1p, expm1, exp2, rsqrt,
    reciprocal, deg2rad, rad2deg, tanh, sigmoid, relu, abs, square, floor, ceil, sign, round, frac, clamp,
    clip, clamp_min, clamp_max, maximum, minimum, masked_fill, lerp, addcmul, addcdiv, remainder, fmod,
    atan2, fmax, fmin, sinc, arctan2=atan2, arcsinh=asinh, arccosh=acosh,
    arctanh=atanh, arcsin=asin, arccos=acos, arctan=atan, absolute=abs, __abs__=abs, __mod__=remainder,
    __rmod__=rremainder,
)  # fmt: skip
FUNCTIONS = named(where)
attach(where=_where_method)
