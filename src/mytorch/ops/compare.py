"""Comparisons and logic: results without gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import common
from ..naming import attach, named, numpy_names, public
from ..tensor import Tensor
from .broadcast import both_arrays, mismatch, quiet
from .reduce import axes_of


def _comparison(name: str, ufunc: Any) -> Any:
    ordered = name in ("lt", "le", "gt", "ge")

    def op(input: Tensor, other: Any) -> Tensor:
        b = other._array if isinstance(other, Tensor) else other
        if isinstance(b, (str, type(None))):
            raise TypeError(f"{name}(): argument 'other' must be Tensor or Number, not {type(b).__name__}")
        if ordered and input._array.dtype.kind == "c":
            raise NotImplementedError(f"{name} is not implemented for complex numbers")
        try:
            with quiet(all="ignore"):
                return Tensor(np.asarray(ufunc(input._array, b)))
        except ValueError:
            raise mismatch(input._array.shape, np.shape(b)) from None

    op.__name__ = op.__qualname__ = name
    if name.startswith("logical"):  # takes no numbers
        op.__annotations__["other"] = "Tensor"
    return op


eq = _comparison("eq", np.equal)
ne = _comparison("ne", np.not_equal)
lt = _comparison("lt", np.less)
le = _comparison("le", np.less_equal)
gt = _comparison("gt", np.greater)
ge = _comparison("ge", np.greater_equal)
logical_and = _comparison("logical_and", np.logical_and)
logical_or = _comparison("logical_or", np.logical_or)
logical_xor = _comparison("logical_xor", np.logical_xor)


def _eq_operator(self: Tensor, other: Any) -> Any:
    return False if other is None or isinstance(other, str) else eq(self, other)


def _ne_operator(self: Tensor, other: Any) -> Any:
    return True if other is None or isinstance(other, str) else ne(self, other)


def _bitwise(name: str, ufunc: Any) -> Any:
    def op(input: Tensor, other: Any) -> Tensor:
        a, b = both_arrays(input, other)
        kind = common(a, b)
        if kind.kind == "f":
            raise NotImplementedError(
                f"\"{name}_cpu\" not implemented for 'Float': convert to integers or booleans first"
            )
        try:
            return Tensor(np.asarray(ufunc(a.astype(kind, copy=False), b.astype(kind, copy=False))))
        except ValueError:
            raise mismatch(a.shape, b.shape) from None

    op.__name__ = op.__qualname__ = name
    return op


bitwise_and = _bitwise("bitwise_and", np.bitwise_and)
bitwise_or = _bitwise("bitwise_or", np.bitwise_or)
bitwise_xor = _bitwise("bitwise_xor", np.bitwise_xor)
bitwise_left_shift = _bitwise("bitwise_left_shift", np.left_shift)
bitwise_right_shift = _bitwise("bitwise_right_shift", np.right_shift)


def _test(name: str, function: Any) -> Any:
    def op(input: Tensor) -> Tensor:
        return Tensor(np.asarray(function(input._array)))

    op.__name__ = op.__qualname__ = name
    return op


def bitwise_not(input: Tensor) -> Tensor:
    if input._array.dtype.kind == "f":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return Tensor(np.asarray(~input._array))


logical_not = _test("logical_not", np.logical_not)
isnan = _test("isnan", np.isnan)
isinf = _test("isinf", np.isinf)
isfinite = _test("isfinite", np.isfinite)
signbit = _test("signbit", np.signbit)
isposinf = _test("isposinf", np.isposinf)
isneginf = _test("isneginf", np.isneginf)


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    if input._array.dtype != other._array.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}: convert one of them")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    return Tensor(np.asarray(np.isclose(input._array, other._array, rtol, atol, equal_nan)))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    if input._array.dtype != other._array.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}: convert one of them")
    return bool(np.isclose(input._array, other._array, rtol, atol, equal_nan).all())


def equal(input: Tensor, other: Tensor) -> bool:
    return input._array.shape == other._array.shape and bool((input._array == other._array).all())


def _whether(function: Any, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    a = input._array
    axes = axes_of(dim, a.ndim)
    out = np.asarray(function(a, axes if a.ndim else None, keepdims=keepdim))
    return Tensor(out.astype(np.uint8) if a.dtype == np.uint8 else out)


@numpy_names
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return _whether(np.all, input, dim, keepdim)


@numpy_names
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return _whether(np.any, input, dim, keepdim)


def nan_to_num(input: Tensor, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Tensor:
    from ..autograd import record

    x = input._array
    out = np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
    finite = np.isfinite(x)
    return record(out, (input,), lambda g: (g * finite,), again=lambda g: (g * Tensor(finite),))


def heaviside(input: Tensor, values: Tensor) -> Tensor:
    if input._array.dtype != values._array.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    if input._array.dtype.kind in "iub":
        a = input._array
        return Tensor(np.where(a == 0, values._array, (a > 0).astype(a.dtype)))
    out = np.heaviside(input._array, values._array)
    return Tensor(np.asarray(np.where(np.isnan(input._array), input._array.dtype.type(0), out)))


def is_nonzero(input: Tensor) -> bool:
    return bool(input)


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    first, second = (t._array if isinstance(t, Tensor) else np.asarray(t) for t in (elements, test_elements))
    return Tensor(np.asarray(np.isin(first, second, invert=invert)))


def isreal(input: Tensor) -> Tensor:
    return Tensor(np.asarray(np.isreal(input._array)))


METHODS = attach(
    eq, ne, lt, le, gt, ge, logical_and, logical_or, logical_xor, logical_not, bitwise_and, bitwise_or,
    bitwise_xor, bitwise_not, bitwise_left_shift, bitwise_right_shift, isnan, isinf, isfinite, signbit,
    isposinf, isneginf, isclose, allclose, equal, all, any, nan_to_num, heaviside, is_nonzero, not_equal=ne,
    less=lt, less_equal=le, greater=gt, greater_equal=ge, __eq__=_eq_operator, __ne__=_ne_operator,
    __lt__=lt, __le__=le, __gt__=gt, __ge__=ge, __and__=bitwise_and, __rand__=public(bitwise_and), __or__=bitwise_or,
    __ror__=public(bitwise_or), __xor__=bitwise_xor, __rxor__=public(bitwise_xor), __invert__=bitwise_not,
    __lshift__=bitwise_left_shift, __rshift__=bitwise_right_shift,
)  # fmt: skip
FUNCTIONS = named(isin)
attach(isreal)
FUNCTIONS["isreal"] = isreal
