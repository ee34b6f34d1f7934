"""Activations, each with its derivative beside it, safe for any finite input."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from mytorch.autograd import record
from mytorch.ops import pointwise
from mytorch.ops.inplace import apply
from mytorch.ops.pointwise import sigmoid, sigmoid_array, tanh
from mytorch.tensor import Tensor

__all__ = [
    "elu", "gelu", "hardtanh", "leaky_relu", "log_softmax", "logsigmoid", "relu", "relu6", "sigmoid", "silu",
    "softmax", "softplus", "tanh",
]  # fmt: skip


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return apply(input, relu, (), {}) if inplace else pointwise.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    if inplace:
        return apply(input, hardtanh, (min_val, max_val), {})
    out = np.clip(input._array, min_val, max_val)

    def hardtanh_backward(g: np.ndarray) -> tuple[np.ndarray]:
        return (g * ((out > min_val) & (out < max_val)),)

    return record(out, (input,), hardtanh_backward, saves_output=True)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    if inplace:
        return apply(input, leaky_relu, (negative_slope,), {})
    x = input._array
    slope = (x > 0) * np.asarray(1 - negative_slope, x.dtype) + negative_slope
    return record(x * slope, (input,), lambda g: (g * slope,))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x above zero, alpha * (e^x - 1) below."""
    if inplace:
        return apply(input, elu, (alpha,), {})
    x = input._array
    below = np.expm1(np.minimum(x, 0)) * alpha  # 0 above
    negative = x <= 0

    def elu_backward(g: np.ndarray) -> tuple[np.ndarray]:
        return (g * (below + (1 + negative * g.dtype.type(alpha - 1))),)

    return record(np.maximum(x, 0) + below, (input,), elu_backward)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    if inplace:
        return apply(input, silu, (), {})
    x = input._array
    s = sigmoid_array(x)
    return record(x * s, (input,), lambda g: (g * s * (1 + x * (1 - s)),), saved=(input,))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + e^(beta x)) / beta; x itself where beta x is above the threshold."""
    x = input._array
    scaled = x * beta
    linear = scaled > threshold
    curve = (np.maximum(scaled, 0) + np.log1p(np.exp(-np.abs(scaled)))) / beta

    def softplus_backward(g: np.ndarray) -> tuple[np.ndarray]:
        return (g * np.where(linear, 1, sigmoid_array(scaled)),)

    return record(np.where(linear, x, curve), (input,), softplus_backward)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)) without taking the logarithm of 0."""
    x = input._array
    out = np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))
    return record(out, (input,), lambda g: (g * sigmoid_array(-x),), saved=(input,))


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x * Φ(x), Φ being the normal distribution function, or its tanh approximation."""
    x = input._array
    if approximate == "none":
        below = (1 + erf(x * math.sqrt(0.5))) * 0.5  # Φ(x)
        density = np.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
        slope = below + x * density
    elif approximate == "tanh":
        a, b = math.sqrt(2 / math.pi), 0.044715
        t = np.tanh(a * (x + b * x * x * x))
        below = 0.5 * (1 + t)
        slope = below + 0.5 * x * (1 - t * t) * (a * (1 + 3 * b * x * x))
    else:
        raise RuntimeError(f"approximate argument must be either none or tanh, but got {approximate!r}")
    return record(x * below, (input,), lambda g: (g * slope,))


_ERF_STEP, _ERF_END = 1 / 256, 6.0  # erf(6) is 1 to the last digit of a float64
_ERF_BLOCK = 1 << 13  # numbers at a time, so that a dozen passes stay in the cache


@cache
def _erf_table(kind: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    grid = np.arange(0, _ERF_END + _ERF_STEP / 2, _ERF_STEP)
    slopes = 2 / math.sqrt(math.pi) * np.exp(-grid * grid)
    return np.array([math.erf(p) for p in grid], kind), slopes.astype(kind)


def erf(x: np.ndarray) -> np.ndarray:
    """NumPy has no erf: Taylor's series around the nearest of 1537 points, exact to the last digit or two."""
    values, slopes = _erf_table(x.dtype)
    flat = x.reshape(-1)
    out = np.empty_like(flat)
    for start in range(0, flat.size, _ERF_BLOCK):
        block = flat[start : start + _ERF_BLOCK]
        size = np.minimum(np.abs(block), _ERF_END)
        near = np.rint(size * (1 / _ERF_STEP)).astype(np.intp)
        p = near * x.dtype.type(_ERF_STEP)
        d, q = size - p, p * p
        # The derivatives of erf are its slope times Hermite polynomials in p; float32 needs three of them.
        series = (2 * q - 1) / 3
        if x.dtype != np.float32:
            series += d * (p * (3 - 2 * q) / 6 + d * ((q * (4 * q - 12) + 3) / 30))
        series = values[near] + slopes[near] * (d * (1 + d * (d * series - p)))
        np.copysign(series, block, out=out[start : start + _ERF_BLOCK])
    return out.reshape(x.shape)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: object = None) -> Tensor:
    if dtype is not None:
        return softmax(input.to(dtype), dim)
    axis = _softmax_dim(input) if dim is None else dim
    out = softmax_array(_floating(input), axis)

    def softmax_backward(g: np.ndarray) -> tuple[np.ndarray]:
        gx = g * out
        gx -= out * gx.sum(axis, keepdims=True)
        return (gx,)

    return record(out, (input,), softmax_backward, saves_output=True)


def softmax_array(x: np.ndarray, axis: int) -> np.ndarray:
    out = x - x.max(axis, keepdims=True) if x.size else x.copy()
    np.exp(out, out=out)
    out /= out.sum(axis, keepdims=True)
    return out


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: object = None) -> Tensor:
    if dtype is not None:
        return log_softmax(input.to(dtype), dim)
    axis = _softmax_dim(input) if dim is None else dim
    x = _floating(input)
    out = x - x.max(axis, keepdims=True) if x.size else x.copy()
    out -= np.log(np.exp(out).sum(axis, keepdims=True))

    def log_softmax_backward(g: np.ndarray) -> tuple[np.ndarray]:
        return (g - np.exp(out) * g.sum(axis, keepdims=True),)

    return record(out, (input,), log_softmax_backward, saves_output=True)


def _softmax_dim(input: Tensor) -> int:
    """torch's (deprecated) choice when dim is not given."""
    return 0 if input.ndim in (0, 1, 3) else 1


def _floating(input: Tensor) -> np.ndarray:
    return input._array if input._array.dtype.kind == "f" else input._array.astype(np.float32)
