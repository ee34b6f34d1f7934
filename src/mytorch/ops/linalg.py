"""Matrix products of any rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record
from ..tensor import Tensor
from .elementwise import unbroadcast


def matmul(input: Tensor, other: Tensor) -> Tensor:
    a, b = input._array, other._array
    na, nb = a.ndim, b.ndim
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {_word(input)} != {_word(other)}"
        )
    if na == 0 or nb == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {na}D and {nb}D")
    try:
        out = a @ b
    except ValueError:
        raise _matmul_mismatch(a.shape, b.shape) from None
    need_a, need_b = input.requires_grad, other.requires_grad

    def matmul_backward(g: np.ndarray) -> tuple:
        ga = gb = None
        if na == 2 and nb == 2:  # the common case, with no reshaping
            return g @ b.T if need_a else None, a.T @ g if need_b else None
        # a vector is a matrix with one row (left) or one column (right)
        left = a[None] if na == 1 else a
        right = b[:, None] if nb == 1 else b
        if nb == 1:
            g = np.expand_dims(g, -1)
        if na == 1:
            g = np.expand_dims(g, -2)
        if need_a:
            ga = unbroadcast(g @ np.swapaxes(right, -1, -2), left.shape).reshape(a.shape)
        if need_b:
            if (
                right.ndim == 2 and left.ndim > 2
            ):  # one product over all leading dims instead of one each and a sum
                gb = left.reshape(-1, left.shape[-1]).T @ g.reshape(-1, g.shape[-1])
            else:
                gb = unbroadcast(np.swapaxes(left, -1, -2) @ g, right.shape)
            gb = gb.reshape(b.shape)
        return ga, gb

    saved = (input, other) if need_a and need_b else (other,) if need_a else (input,)
    return record(out, (input, other), matmul_backward, saved)


def _word(t: Tensor) -> str:
    return {"float32": "float", "float64": "double", "int64": "long int"}.get(t.dtype.name, t.dtype.name)


def _matmul_mismatch(a: tuple, b: tuple) -> RuntimeError:
    if len(a) == 1 and len(b) == 1:
        return RuntimeError(
            f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same "
            f"number of elements, but got {a[0]} and {b[0]} elements respectively"
        )
    if len(a) == 2 and len(b) == 1:
        return RuntimeError(f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})")
    if len(b) <= 2 or len(a) <= 2 or a[:-2] == b[:-2]:
        if len(a) > 2 and len(b) > 2:
            return RuntimeError(
                "Expected size for first two dimensions of batch2 tensor to be: "
                f"[{int(np.prod(a[:-2]))}, {a[-1]}] but got: [{int(np.prod(b[:-2]))}, {b[-2]}]."
            )
        rows = int(np.prod(a[:-1])) if len(a) > 1 else 1
        return RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1]} and {b[-2] if len(b) > 1 else b[0]}x{b[-1]})"
        )
    for i, (x, y) in enumerate(zip(a[-3::-1], b[-3::-1])):
        if x != y and 1 not in (x, y):
            where = max(len(a), len(b)) - 3 - i
            return RuntimeError(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {where}"
            )
    return RuntimeError(f"shapes {list(a)} and {list(b)} cannot be multiplied")


def rmatmul(input: Tensor, other: Any) -> Tensor:
    return matmul(Tensor(np.asarray(other)), input)


METHODS = dict(matmul=matmul, __matmul__=matmul, __rmatmul__=rmatmul)
for _name, _function in METHODS.items():
    setattr(Tensor, _name, _function)
