"""Operations that change a tensor's memory: x.add_(y), x[i] = y, x += y.

What is not recorded writes straight into the memory. What is recorded runs the plain operation on a copy of the old
value (which backward may read), writes the result back and gives the tensor the result's history.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import BOOL, of_array
from ..gradmode import state as grad_mode
from ..graph import edge_of, linear, record, replace_history
from ..naming import attach
from ..tensor import Tensor
from . import elementwise, index, pointwise
from .broadcast import cast, mismatch, quiet, unbroadcast


def recorded(self: Tensor, *others: Any) -> bool:
    """Whether this in-place change must be recorded; an error for leaves that require a gradient."""
    if not grad_mode.enabled:
        return False
    if self._requires_grad and self._node is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    base = self._base
    if base is not None and base._requires_grad and base._node is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if self._requires_grad or (base is not None and base._requires_grad):
        return True
    return any(isinstance(t, Tensor) and t._requires_grad for t in others)


def _before(self: Tensor, copy: bool = True) -> Tensor:
    """The tensor before the change: a copy of its values, and its history."""
    old = Tensor(self._array.copy() if copy else self._array)
    edge = edge_of(self)
    old._node = None if edge is self else edge
    old._requires_grad = self._requires_grad
    return old


def write(self: Tensor, value: Any) -> Tensor:
    """Put an array's values into this tensor's memory."""
    a = self._array
    try:
        np.copyto(a, value, casting="same_kind")
    except TypeError:
        raise _cast_error(np.asarray(value), a) from None
    except ValueError:
        raise _write_error(a, np.shape(value)) from None
    self._version[0] += 1
    return self


def _cast_error(value: np.ndarray, a: np.ndarray) -> RuntimeError:
    own, got = of_array(a).legacy.removesuffix("Tensor"), of_array(value).legacy.removesuffix("Tensor")
    return RuntimeError(f"result type {got} can't be cast to the desired output type {own}")


def _write_error(a: np.ndarray, shape: tuple) -> RuntimeError:
    if not a.flags.writeable:
        return RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )
    try:
        wide = np.broadcast_shapes(a.shape, shape)
    except ValueError:
        return mismatch(a.shape, shape)
    return RuntimeError(f"output with shape {list(a.shape)} doesn't match the broadcast shape {list(wide)}")


def apply(self: Tensor, op: Any, args: tuple, kwargs: dict) -> Tensor:
    """self = op(self, ...) in self's own memory."""
    if not recorded(self, *args, *kwargs.values()):
        return write(self, op(self, *args, **kwargs)._array)
    old = _before(self)
    result = op(old, *[old if x is self else x for x in args], **kwargs)
    if self._array.dtype.kind == "f":
        result = cast(result, self._array.dtype)
    write(self, result._array)
    replace_history(self, result)
    return self


def inplace(op: Any) -> Any:
    """The in-place form of an operation."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return apply(self, op, args, kwargs)

    method.__name__ = method.__qualname__ = op.__name__ + "_"
    return method


def _direct(op: Any, ufunc: Any) -> Any:
    """The in-place form of arithmetic: one NumPy call into the same memory when nothing is recorded."""

    def method(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
        if recorded(self, other):
            return apply(self, op, (other,), {} if alpha == 1 else {"alpha": alpha})
        if alpha != 1:
            other = elementwise.scaled(self, other, alpha)
        a = self._array
        b = other._array if isinstance(other, Tensor) else other
        try:
            ufunc(a, b, out=a, casting="same_kind")
        except TypeError:
            raise _cast_error(op(self, other)._array, a) from None
        except ValueError:
            raise _write_error(a, np.shape(b)) from None
        self._version[0] += 1
        return self

    method.__name__ = method.__qualname__ = op.__name__ + "_"
    return method


add_ = _direct(elementwise.add, np.add)
_subtract = _direct(elementwise.sub, np.subtract)
mul_ = _direct(elementwise.mul, np.multiply)


def sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    if isinstance(other, bool) or (isinstance(other, Tensor) and other._array.dtype == BOOL):
        raise elementwise.no_bool()
    return _subtract(self, other, alpha=alpha)


def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is None and self._array.dtype.kind == "f" and not recorded(self, other):
        with quiet(all="ignore"):
            return _divide(self, other)
    return apply(self, elementwise.div, (other,), {"rounding_mode": rounding_mode})


_divide = _direct(elementwise.div, np.true_divide)


def _plain(*tensors: Tensor) -> bool:
    """Whether NumPy computes with them in torch's type."""
    kind = tensors[0]._array.dtype
    return kind.kind == "f" and all(t._array.dtype == kind for t in tensors)


def addcmul_(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    if recorded(self, tensor1, tensor2) or not _plain(self, tensor1, tensor2):
        return apply(self, pointwise.addcmul, (tensor1, tensor2), {"value": value})
    part = tensor1._array * tensor2._array
    if value != 1:
        part *= value
    return add_(self, Tensor(part))


def addcdiv_(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    if recorded(self, tensor1, tensor2) or not _plain(self, tensor1, tensor2):
        return apply(self, pointwise.addcdiv, (tensor1, tensor2), {"value": value})
    with quiet(all="ignore"):
        part = tensor1._array / tensor2._array
    if value != 1:
        part *= value
    return add_(self, Tensor(part))


def _constant(self: Tensor, value: Any) -> Tensor:
    shape, like = self._array.shape, self._array.dtype
    value = value if isinstance(value, Tensor) else Tensor(np.asarray(value).astype(like))
    out = np.broadcast_to(value._array, shape)
    own = value._array.shape
    return record(
        out,
        (self, value),
        lambda g: (np.zeros(shape, g.dtype), unbroadcast(g, own)),
        again=lambda g: (None, unbroadcast(g, own)),
    )


def fill_(self: Tensor, value: Any) -> Tensor:
    if recorded(self, value):
        return apply(self, _constant, (value,), {})
    a = self._array
    if not a.flags.writeable:
        raise _write_error(a, a.shape)
    a.fill(value.item() if isinstance(value, Tensor) else value)
    self._version[0] += 1
    return self


def zero_(self: Tensor) -> Tensor:
    return fill_(self, 0)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """The values of src, converted to this dtype."""
    if recorded(self, src):
        return apply(self, _constant, (cast(src, self._array.dtype),), {})
    value = src._array if isinstance(src, Tensor) else np.asarray(src)
    with quiet(all="ignore"):
        return write(self, value.astype(self._array.dtype, copy=False))


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """x[key] = value, with gradients to x (outside key) and to value."""
    a = self._array
    steps, _, _ = index.steps_of(key, a.ndim)
    keeps = recorded(self, value)
    new = value._array if isinstance(value, Tensor) else value
    target = a.copy() if keeps and self._base is not None else a
    try:
        index.put(target, steps, new)
    except ValueError:
        if not a.flags.writeable:
            raise _write_error(a, a.shape) from None
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(np.shape(new))} cannot be broadcast to indexing result of "
            f"shape {list(index.part_of(a, steps).shape)}"
        ) from None
    except IndexError as fault:
        raise index.index_error(fault, a, steps) from None
    if keeps:
        source = value if isinstance(value, Tensor) else Tensor(np.asarray(new, a.dtype))
        shape, kind = source._array.shape, source._array.dtype

        def rest(g: np.ndarray) -> np.ndarray:
            g = np.array(g)
            index.put(g, steps, 0)
            return g

        def part(g: np.ndarray) -> np.ndarray:
            taken = np.asarray(index.part_of(g, steps))
            while taken.ndim < len(shape):  # a value with leading dims of size 1
                taken = taken[None]
            return unbroadcast(taken, shape).astype(kind, copy=False)

        def placed(g: np.ndarray) -> np.ndarray:
            full = np.zeros(whole, g.dtype)
            index.put(full, steps, g)
            return full

        whole = a.shape

        def setitem_backward(g: np.ndarray) -> tuple:
            return rest(g), part(g)

        def setitem_again(g: Tensor) -> tuple:
            return linear(g, rest, rest), linear(g, part, placed)

        old = _before(self, copy=False)
        result = record(target, (old, source), setitem_backward, again=setitem_again)
        if target is not a:
            np.copyto(a, target)
        self._version[0] += 1
        replace_history(self, result)
    else:
        self._version[0] += 1


_ELEMENTWISE = ("pow", "neg", "sqrt", "exp", "log", "trunc", "floor_divide")
_POINTWISE = (
    "sin", "cos", "tan", "atan", "log2", "log10", "log1p", "expm1", "rsqrt", "reciprocal", "tanh", "sigmoid", "relu",
    "abs", "square", "floor", "ceil", "sign", "round", "frac", "clamp", "clip", "clamp_min", "clamp_max",
    "masked_fill", "lerp", "remainder", "fmod",
)  # fmt: skip
METHODS = attach(
    add_, sub_, mul_, div_, addcmul_, addcdiv_, fill_, zero_, copy_, subtract_=sub_, multiply_=mul_, divide_=div_,
    __setitem__=setitem, __iadd__=add_, __isub__=sub_, __imul__=mul_, __itruediv__=div_,
    **{name + "_": inplace(elementwise.METHODS[name]) for name in _ELEMENTWISE},
    **{name + "_": inplace(pointwise.METHODS[name]) for name in _POINTWISE},
)  # fmt: skip
attach(__ipow__=METHODS["pow_"], __ifloordiv__=METHODS["floor_divide_"], __imod__=METHODS["remainder_"])
