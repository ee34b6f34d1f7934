"""Arithmetic with broadcasting: each operation with its gradient, summed back over what was broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record
from ..dtypes import common, default
from ..naming import attach, named
from ..tensor import Tensor
from .broadcast import both_arrays, cast, floating, mismatch, operand, promoted, quiet, unbroadcast


def add(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    if alpha != 1:
        other = mul(other, alpha) if isinstance(other, Tensor) else other * alpha
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
            return record(out, (input, other), _same_for_both)
        sa, sb = a.shape, b.shape
        return record(out, (input, other), lambda g: (unbroadcast(g, sa), unbroadcast(g, sb)))
    try:
        out = a + other
    except (TypeError, OverflowError):
        out = None
    if out is None or out.dtype is not a.dtype or out.shape != a.shape:
        return add(*promoted(input, other))
    return record(out, (input,), _same)


def _same(g: np.ndarray) -> tuple:
    return (g,)


def _same_for_both(g: np.ndarray) -> tuple:
    return g, g


_same.__qualname__ = _same_for_both.__qualname__ = "add"  # the name grad_fn shows


def sub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    if alpha != 1:
        other = mul(other, alpha) if isinstance(other, Tensor) else other * alpha
    a = input._array
    if isinstance(other, Tensor):
        b = other._array
        if a.dtype is not b.dtype and a.dtype != b.dtype:
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
        sa, sb, need_b = a.shape, b.shape, other.requires_grad

        def sub_backward(g: np.ndarray) -> tuple:
            return unbroadcast(g, sa), unbroadcast(-g, sb) if need_b else None

        return record(out, (input, other), sub_backward)
    try:
        out = a - other
    except (TypeError, OverflowError):
        out = None
    if out is None or out.dtype is not a.dtype or out.shape != a.shape:
        return sub(*promoted(input, other))
    return record(out, (input,), _same)


def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """other - alpha * input"""
    if alpha == 1 and other.__class__ is float and input._array.dtype.kind == "f":
        return record(other - input._array, (input,), lambda g: (-g,))
    return add(neg(input) if alpha == 1 else mul(input, -alpha), other)


def mul(input: Tensor, other: Any) -> Tensor:
    a = input._array
    if isinstance(other, Tensor):
        b = other._array
        if a.dtype is not b.dtype and a.dtype != b.dtype:
            return mul(*promoted(input, other))
        try:
            out = a * b
        except ValueError:
            raise mismatch(a.shape, b.shape) from None
        need_a, need_b = input.requires_grad, other.requires_grad
        sa, sb = a.shape, b.shape

        def mul_backward(g: np.ndarray) -> tuple:
            return unbroadcast(g * b, sa) if need_a else None, unbroadcast(g * a, sb) if need_b else None

        saved = (input, other) if need_a and need_b else (other,) if need_a else (input,)  # what is read
        if not need_a:  # keep alive only what backward reads
            b = None
        if not need_b:
            a = None
        return record(out, (input, other), mul_backward, saved)
    try:
        out = a * other
    except (TypeError, OverflowError):
        out = None
    if out is None or out.dtype is not a.dtype or out.shape != a.shape:
        return mul(*promoted(input, other))
    return record(out, (input,), lambda g: (g * other,))


def div(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is not None:
        if rounding_mode == "floor":  # a step function: there is a gradient, and it is 0
            shape = input._array.shape
            return record(floor_divide(input, other)._array, (input,), lambda g: (np.zeros(shape, g.dtype),))
        if rounding_mode != "trunc":
            raise RuntimeError(
                f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
            )
        return cast(trunc(div(input, other)), common(*both_arrays(input, other)))
    a = input._array
    if isinstance(other, Tensor):
        b = other._array
        if a.dtype is not b.dtype or a.dtype.kind != "f":
            x, y = promoted(input, other)
            kind = x._array.dtype if x._array.dtype.kind == "f" else default()
            x, y = cast(x, kind), cast(y, kind)
            if x is not input or y is not other:
                return div(x, y)
        try:
            with quiet(all="ignore"):
                out = a / b
        except ValueError:
            raise mismatch(a.shape, b.shape) from None
        sa, sb, need_a, need_b = a.shape, b.shape, input.requires_grad, other.requires_grad

        def div_backward(g: np.ndarray) -> tuple:
            g = g / b
            return unbroadcast(g, sa) if need_a else None, unbroadcast(-g * out, sb) if need_b else None

        return record(out, (input, other), div_backward, (other,), need_b)
    if a.dtype.kind != "f" or not isinstance(other, (int, float)) or isinstance(other, np.generic):
        return div(floating(input), Tensor(operand(other, floating(input)._array)))
    with quiet(all="ignore"):
        out = np.true_divide(a, other)
    return record(out, (input,), lambda g: (g / other,))


def rdiv(input: Tensor, other: Any) -> Tensor:
    input = floating(input)
    return div(Tensor(operand(other, input._array)), input)


def neg(input: Tensor) -> Tensor:
    if input._array.dtype.kind == "b":
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. Use `~` to invert a mask.")
    return record(-input._array, (input,), lambda g: (-g,))


def positive(input: Tensor) -> Tensor:
    return input


def pow(input: Any, exponent: Any) -> Tensor:
    if not isinstance(exponent, Tensor):
        if isinstance(exponent, (int, float)) and input._array.dtype.kind == "f":
            return _pow_number(input, float(exponent))
        if input._array.dtype.kind in "iu" and isinstance(exponent, int) and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
    base, power = promoted(input, exponent)
    a, b = base._array, power._array
    try:
        with quiet(all="ignore"):
            out = a**b
    except ValueError:
        raise mismatch(a.shape, b.shape) from None
    need_a, need_b = base.requires_grad, power.requires_grad

    def pow_backward(g: np.ndarray) -> tuple:
        ga = gb = None
        if need_a:
            ga = unbroadcast(np.where(b == 0, 0, g * b * a ** (b - 1)), a.shape)
        if need_b:
            gb = unbroadcast(np.where((a == 0) & (b >= 0), 0, g * out * np.log(a)), b.shape)
        return ga, gb

    return record(out, (base, power), pow_backward, (base, power), need_b)


def _pow_number(input: Tensor, p: float) -> Tensor:
    a = input._array
    if p == 2.0:
        return record(a * a, (input,), lambda g: (g * (2 * a),), (input,))
    if p == 0.5:
        return sqrt(input)
    with quiet(all="ignore"):
        out = a**p
    if p == 0.0:
        return record(out, (input,), lambda g: (np.zeros_like(g),))
    return record(out, (input,), lambda g: (g * (p * a ** (p - 1.0)),), (input,))


def rpow(input: Tensor, other: Any) -> Tensor:
    return pow(other, input)


def sqrt(input: Tensor) -> Tensor:
    input = floating(input)
    with quiet(all="ignore"):
        out = np.sqrt(input._array)
    return record(out, (input,), lambda g: (g / (2 * out),), saves_output=True)


def exp(input: Tensor) -> Tensor:
    input = floating(input)
    with quiet(all="ignore"):
        out = np.exp(input._array)
    return record(out, (input,), lambda g: (g * out,), saves_output=True)


def log(input: Tensor) -> Tensor:
    input = floating(input)
    a = input._array
    with quiet(all="ignore"):
        out = np.log(a)
    return record(out, (input,), lambda g: (g / a,), (input,))


def trunc(input: Tensor) -> Tensor:
    return record(np.trunc(input._array), (input,), lambda g: (np.zeros_like(g),))


def floor_divide(input: Tensor, other: Any) -> Tensor:
    a, b = both_arrays(input, other)
    kind = common(a, b)
    with quiet(all="ignore"):
        return Tensor(np.floor_divide(a.astype(kind, copy=False), b.astype(kind, copy=False)))


def rfloor_divide(input: Tensor, other: Any) -> Tensor:
    return floor_divide(Tensor(operand(other, input._array)), input)


METHODS = attach(
    add, sub, mul, div, pow, neg, sqrt, exp, log, trunc, floor_divide, subtract=sub, multiply=mul,
    divide=div, true_divide=div, negative=neg, fix=trunc, __add__=add, __radd__=add, __sub__=sub,
    __rsub__=rsub, __mul__=mul, __rmul__=mul, __truediv__=div, __rtruediv__=rdiv, __neg__=neg,
    __pos__=positive, __pow__=pow, __rpow__=rpow, __floordiv__=floor_divide,
    __rfloordiv__=rfloor_divide,
)  # fmt: skip
FUNCTIONS = named(rsub)
