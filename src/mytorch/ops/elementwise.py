"""Arithmetic with broadcasting: each operation with its gradient, summed back over what was broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record
from ..dtypes import BOOL, COMPLEX64, COMPLEX128, common, default
from ..naming import attach, named
from ..tensor import Tensor
from . import either
from .broadcast import both_arrays, cast, floating, mismatch, operand, promoted, quiet, unbroadcast


def add(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    if alpha != 1:
        other = scaled(input, other, alpha)
    a = input._array
    if isinstance(other, Tensor):
        b = other._array
        if a.dtype is not b.dtype and a.dtype != b.dtype:
            return add(*promoted(input, other))
        try:
            out = a + b
        except ValueError:
            raise mismatch(a.shape, b.shape) from None
        if a.shape == b.shape:
            return record(out, (input, other), _same_for_both, (), False, True)
        sa, sb = a.shape, b.shape
        return record(out, (input, other), lambda g: (unbroadcast(g, sa), unbroadcast(g, sb)), again=True)
    try:
        out = a + other
    except (TypeError, OverflowError):
        out = None
    if out is None or out.dtype is not a.dtype or out.shape != a.shape:
        return add(*promoted(input, other))
    return record(out, (input,), _same, (), False, True)


def scaled(input: Tensor, other: Any, alpha: Any) -> Any:
    """alpha * other, in the type of the result: in other's own a product of small integers would wrap around."""
    if isinstance(alpha, bool) and input._array.dtype != BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    kind = common(*both_arrays(input, other))
    if isinstance(alpha, float) and kind.kind not in "fc":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return mul(cast(other, kind), alpha) if isinstance(other, Tensor) else other * alpha


def _same(g: np.ndarray) -> tuple:
    return (g,)


def _same_for_both(g: np.ndarray) -> tuple:
    return g, g


_same.__qualname__ = _same_for_both.__qualname__ = "add"  # the name grad_fn shows


def sub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    if alpha != 1:
        other = scaled(input, other, alpha)
    a = input._array
    if isinstance(other, Tensor):
        b = other._array
        if a.dtype is not b.dtype and a.dtype != b.dtype:
            if a.dtype == BOOL or b.dtype == BOOL:
                raise no_bool()
            return sub(*promoted(input, other))
        try:
            out = a - b
        except ValueError:
            raise mismatch(a.shape, b.shape) from None
        except TypeError:  # NumPy's own refusal of booleans
            raise RuntimeError(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                "`logical_xor()` operator instead."
            ) from None
        sa, sb, need_b = a.shape, b.shape, other._requires_grad

        def sub_backward(g: np.ndarray) -> tuple:
            return unbroadcast(g, sa), unbroadcast(-g, sb) if need_b else None

        return record(out, (input, other), sub_backward, again=True)
    if a.dtype == BOOL or isinstance(other, bool):
        raise no_bool()
    try:
        out = a - other
    except (TypeError, OverflowError):
        out = None
    if out is None or out.dtype is not a.dtype or out.shape != a.shape:
        return sub(*promoted(input, other))
    return record(out, (input,), _same, (), False, True)


def no_bool() -> RuntimeError:
    return RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. Use `~` or `^` instead.")


def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """other - alpha * input"""
    if alpha == 1 and (other.__class__ is float or other.__class__ is int) and input._array.dtype.kind == "f":
        return record(other - input._array, (input,), lambda g: (-g,), again=True)
    if input._array.dtype == BOOL or isinstance(other, bool):
        raise no_bool()
    a, b = promoted(input, other)
    return sub(b, a, alpha=alpha)


def mul(input: Tensor, other: Any) -> Tensor:
    a = input._array
    if isinstance(other, Tensor):
        b = other._array
        kind = a.dtype
        if kind is not b.dtype and kind != b.dtype:
            return mul(*promoted(input, other))
        try:
            out = a * b
        except ValueError:
            raise mismatch(a.shape, b.shape) from None
        need_a, need_b = input._requires_grad, other._requires_grad
        if (kind is COMPLEX64 or kind is COMPLEX128) and (need_a or need_b):
            return _complex_mul(input, other, out)
        sa, sb = a.shape, b.shape
        if need_a and need_b and sa == sb:
            both = (input, other)
            return record(out, both, _each_by_the_other, both, False, True)

        def mul_backward(g: np.ndarray, *read: np.ndarray) -> tuple:
            ga = unbroadcast(g * read[-1], sa) if need_a else None
            return ga, unbroadcast(g * read[0], sb) if need_b else None

        # only what backward reads is kept alive
        read = (input, other) if need_a and need_b else (other,) if need_a else (input,)
        return record(out, (input, other), mul_backward, read, again=True)
    try:
        out = a * other
    except (TypeError, OverflowError):
        out = None
    if out is None or out.dtype is not a.dtype or out.shape != a.shape:
        return mul(*promoted(input, other))
    if a.dtype.kind == "c":
        other = np.conj(other)
    return record(out, (input,), lambda g: (g * other,), again=True)


def rmul(input: Tensor, other: Any) -> Any:
    """other * input, where a list or a text is repeated by Python itself."""
    return NotImplemented if isinstance(other, (list, tuple, str, bytes)) else mul(input, other)


def _each_by_the_other(g: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple:
    return g * b, g * a


_each_by_the_other.__qualname__ = "mul"


def _complex_mul(input: Tensor, other: Tensor, out: np.ndarray) -> Tensor:
    """The gradient of a complex product is by the conjugate of the other factor."""
    sa, sb = input._array.shape, other._array.shape

    def mul_backward(g: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple:
        return unbroadcast(g * either.conj(b), sa), unbroadcast(g * either.conj(a), sb)

    return record(out, (input, other), mul_backward, (input, other), again=True)


def div(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is not None:
        if rounding_mode == "floor":  # a step function: there is a gradient, and it is 0
            return _flat(floor_divide(input, other)._array, input, other)
        if rounding_mode != "trunc":
            raise RuntimeError(
                f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
            )
        a, b = both_arrays(input, other)
        kind = common(a, b)
        if kind.kind in "iu":
            a, b = a.astype(kind, copy=False), b.astype(kind, copy=False)
            _refuse_zero(b)
            quotient = np.floor_divide(a, b)
            return Tensor(np.asarray(quotient + ((a % b != 0) & ((a < 0) != (b < 0)))).astype(kind))
        return cast(trunc(div(input, other)), kind)
    a = input._array
    if isinstance(other, Tensor):
        b = other._array
        if a.dtype is not b.dtype or a.dtype.kind not in "fc":
            x, y = promoted(input, other)
            kind = x._array.dtype if x._array.dtype.kind in "fc" else default()
            x, y = cast(x, kind), cast(y, kind)
            if x is not input or y is not other:
                return div(x, y)
        try:
            with quiet(all="ignore"):
                out = a / b
        except ValueError:
            raise mismatch(a.shape, b.shape) from None
        sa, sb, need_a, need_b = a.shape, b.shape, input._requires_grad, other._requires_grad

        def div_backward(g: np.ndarray, b: np.ndarray, *out: np.ndarray) -> tuple:
            g = g / b
            return unbroadcast(g, sa) if need_a else None, unbroadcast(-g * out[0], sb) if need_b else None

        return record(out, (input, other), div_backward, (other,), need_b, again=True)
    if a.dtype.kind != "f" or not isinstance(other, (int, float)) or isinstance(other, np.generic):
        number = floating(input)
        return div(number, Tensor(operand(other, number._array)))
    with quiet(all="ignore"):
        out = np.true_divide(a, other)
    return record(out, (input,), lambda g: (g / other,), again=True)


def _flat(out: np.ndarray, *operands: Any) -> Tensor:
    """The result of a step function: its gradient is 0."""
    parents = [t for t in operands if isinstance(t, Tensor) and t._array.dtype.kind == "f"]
    shapes = [t._array.shape for t in parents]
    if not parents or out.dtype.kind != "f":
        return Tensor(out)
    return record(out, parents, lambda g: [np.zeros(s, g.dtype) for s in shapes], again=lambda g: [None] * len(shapes))


def rdiv(input: Tensor, other: Any) -> Tensor:
    input = floating(input)
    return div(other if isinstance(other, Tensor) else Tensor(operand(other, input._array)), input)


def neg(input: Tensor) -> Tensor:
    if input._array.dtype.kind == "b":
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. Use `~` to invert a mask.")
    return record(-input._array, (input,), lambda g: (-g,), again=True)


def positive(input: Tensor) -> Tensor:
    if input._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def pow(input: Any, exponent: Any) -> Tensor:
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError("pow(): needs a tensor, but got two numbers")
    if not isinstance(exponent, Tensor):
        if isinstance(exponent, (int, float)) and input._array.dtype.kind == "f":
            return _pow_number(input, float(exponent))
        if input._array.dtype.kind in "iu" and isinstance(exponent, int) and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
    base, power = promoted(input, exponent)
    a, b = base._array, power._array
    try:
        with quiet(all="ignore"):
            out = a**b if a.dtype.kind not in "iu" else _whole_power(a, b)
    except ValueError:
        raise mismatch(a.shape, b.shape) from None
    need_a, need_b = base._requires_grad, power._requires_grad
    sa, sb = a.shape, b.shape

    def pow_backward(g: np.ndarray, a: np.ndarray, b: np.ndarray, *out: np.ndarray) -> tuple:
        ga = gb = None
        if need_a:
            ga = unbroadcast(either.where(either.values(b) == 0, 0.0, g * b * a ** (b - 1)), sa)
        if need_b:
            flat = (either.values(a) == 0) & (either.values(b) >= 0)
            gb = unbroadcast(either.where(flat, 0.0, g * out[0] * either.log(a)), sb)
        return ga, gb

    return record(out, (base, power), pow_backward, (base, power), need_b, again=True)


def _whole_power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of whole numbers; 1 / a**n is 0 but for 1 and -1."""
    if not (b < 0).any():
        return a**b
    return np.where(b < 0, np.where(np.abs(a) == 1, a ** (b & 1), 0), a ** np.maximum(b, 0))


def _pow_number(input: Tensor, p: float) -> Tensor:
    a = input._array
    if p == 2.0:
        return record(a * a, (input,), _square_backward, (input,), again=True)
    if p == 0.5:
        return sqrt(input)
    with quiet(all="ignore"):
        out = a**p
    if p == 0.0:
        return record(out, (input,), lambda g: (np.zeros_like(g),), again=lambda g: (g * 0,))
    return record(out, (input,), lambda g, x: (g * (p * x ** (p - 1.0)),), (input,), again=True)


def _square_backward(g: np.ndarray, x: np.ndarray) -> tuple:
    return (g * (2 * x),)


_square_backward.__qualname__ = "pow"


def rpow(input: Tensor, other: Any) -> Tensor:
    return pow(other, input)


def float_power(input: Any, exponent: Any) -> Tensor:
    """pow in float64."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError("float_power(): needs a tensor, but got two numbers")
    wide = np.dtype(np.float64)
    base = cast(input, wide) if isinstance(input, Tensor) else Tensor(np.asarray(input, wide))
    return pow(base, cast(exponent, wide) if isinstance(exponent, Tensor) else exponent)


def sqrt(input: Tensor) -> Tensor:
    input = floating(input)
    with quiet(all="ignore"):
        out = np.sqrt(input._array)
    return record(out, (input,), lambda g, y: (g / (2 * y),), saves_output=True, again=True)


def exp(input: Tensor) -> Tensor:
    input = floating(input)
    with quiet(all="ignore"):
        out = np.exp(input._array)
    return record(out, (input,), lambda g, y: (g * y,), saves_output=True, again=True)


def log(input: Tensor) -> Tensor:
    input = floating(input)
    with quiet(all="ignore"):
        out = np.log(input._array)
    return record(out, (input,), lambda g, x: (g / x,), (input,), again=True)


def trunc(input: Tensor) -> Tensor:
    if input._array.dtype.kind in "iu":
        return input.clone()
    return record(np.trunc(input._array), (input,), lambda g: (np.zeros_like(g),), again=lambda g: (g * 0,))


def _refuse_zero(divisor: np.ndarray) -> None:
    if (divisor == 0).any():
        raise RuntimeError("ZeroDivisionError: an integer tensor is divided by 0; convert to float for inf")


def floor_divide(input: Tensor, other: Any) -> Tensor:
    a, b = both_arrays(input, other)
    kind = common(a, b)
    if kind.kind in "iu":
        _refuse_zero(b)
    try:
        with quiet(all="ignore"):
            out = np.floor_divide(a.astype(kind, copy=False), b.astype(kind, copy=False))
            if kind.kind == "f":  # NumPy's quotient by 0 is nan, torch's inf
                out = np.where(b == 0, (a / b).astype(kind), out)
            return Tensor(np.asarray(out))
    except ValueError:
        raise mismatch(a.shape, b.shape) from None


def rfloor_divide(input: Tensor, other: Any) -> Tensor:
    return floor_divide(Tensor(operand(other, input._array)), input)


METHODS = attach(
    add, sub, mul, div, pow, neg, sqrt, exp, log, trunc, floor_divide, float_power, positive, subtract=sub,
    multiply=mul, divide=div, true_divide=div, negative=neg, fix=trunc, __add__=add, __radd__=add, __sub__=sub,
    __rsub__=rsub, __mul__=mul, __rmul__=rmul, __truediv__=div, __rtruediv__=rdiv, __rdiv__=rdiv, __neg__=neg,
    __pos__=positive, __pow__=pow, __rpow__=rpow, __floordiv__=floor_divide,
    __rfloordiv__=rfloor_divide,
)  # fmt: skip
FUNCTIONS = named(rsub)
