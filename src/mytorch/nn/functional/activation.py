"""Activations, each with its derivative beside it, safe for any finite input."""

from __future__ import annotations

import math

import numpy as np

from mytorch.autograd import record, spelled_out
from mytorch.ops import either, pointwise
from mytorch.ops import softmax as softmaxes
from mytorch.ops.inplace import apply
from mytorch.ops.normal import erf_array, scaled_erf
from mytorch.ops.pointwise import sigmoid, sigmoid_array, tanh
from mytorch.parallel import elementwise
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
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val, but got {min_val} > {max_val}")
    if input._array.dtype.kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")

    def hardtanh_backward(g: np.ndarray, y: np.ndarray) -> tuple[np.ndarray]:
        return (g * ((y > min_val) & (y < max_val)),)

    return record(np.clip(input._array, min_val, max_val), (input,), hardtanh_backward, saves_output=True, again=True)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    if inplace:
        return apply(input, leaky_relu, (negative_slope,), {})
    x = input._array
    slope = (x > 0) * np.asarray(1 - negative_slope, x.dtype) + negative_slope  # a constant between the steps
    return record(x * slope, (input,), lambda g: (g * slope,), again=lambda g: (g * Tensor(slope),))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x above zero, alpha * (e^x - 1) below."""
    if inplace:
        return apply(input, elu, (alpha,), {})
    x = input._array
    out = np.maximum(x, 0) + np.expm1(np.minimum(x, 0)) * alpha

    def elu_backward(g: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
        negative = either.values(x) <= 0
        return (g * either.where(negative, either.exp(either.where(negative, x, 0.0)) * alpha, 1.0),)

    return record(out, (input,), elu_backward, (input,), again=True)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    if inplace:
        return apply(input, silu, (), {})
    x = input._array
    s = sigmoid_array(x)

    def silu_backward(g: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
        return (g * s * (1 + x * (1 - s)),)

    return record(x * s, (input,), silu_backward, (input,), again=spelled_out(lambda x: x * sigmoid(x)))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + e^(beta x)) / beta; x itself where beta x is above the threshold."""
    x = input._array
    scaled = x * beta
    linear = scaled > threshold
    curve = (np.maximum(scaled, 0) + np.log1p(np.exp(-np.abs(scaled)))) / beta

    def softplus_backward(g: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
        return (g * np.where(linear, 1, sigmoid_array(scaled)),)

    def softplus_again(g: Tensor, x: Tensor) -> tuple[Tensor]:
        return (g * either.where(linear, 1.0, sigmoid(x * beta)),)

    return record(np.where(linear, x, curve), (input,), softplus_backward, (input,), again=softplus_again)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)) without taking the logarithm of 0."""
    x = input._array
    out = np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))
    return record(
        out,
        (input,),
        lambda g, x: (g * sigmoid_array(-x),),
        (input,),
        again=lambda g, x: (g * sigmoid(-x),),
    )


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x * Φ(x), Φ being the normal distribution function, or its tanh approximation."""
    x = input._array
    if approximate == "none":
        below, out = np.empty_like(x), np.empty_like(x)
        elementwise(_gelu, x, below, out)
        plain = _gelu_plainly
    elif approximate == "tanh":
        below = 0.5 * (1 + _gelu_tanh(x))
        out = x * below
        plain = _gelu_tanh_plainly
    else:
        raise RuntimeError(f"approximate argument must be either none or tanh, but got {approximate!r}")

    def gelu_backward(g: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
        slope = np.empty_like(x)
        elementwise(_gelu_slope if approximate == "none" else _gelu_tanh_slope, x, below, slope)
        slope *= g
        return (slope,)

    return record(out, (input,), gelu_backward, (input,), again=spelled_out(plain))


def _gelu(x: np.ndarray, below: np.ndarray, out: np.ndarray) -> None:
    """below = Φ(x), the area under the normal density up to x, and out = x * below."""
    if x.dtype == np.float32 and x.ndim == 1 and below.flags.c_contiguous:
        scaled_erf(x, below, math.sqrt(0.5), 0.5, 0.5)
    else:
        below[...] = erf_array(x * math.sqrt(0.5))
        below += 1
        below *= 0.5
    np.multiply(x, below, out=out)


def _gelu_slope(x: np.ndarray, below: np.ndarray, slope: np.ndarray) -> None:
    """Φ(x) + x * density(x)."""
    np.multiply(x, x, out=slope)
    slope *= -0.5
    np.exp(slope, out=slope)
    slope *= 1 / math.sqrt(2 * math.pi)
    slope *= x
    slope += below


def _gelu_tanh_slope(x: np.ndarray, below: np.ndarray, slope: np.ndarray) -> None:
    t = 2 * below - 1
    np.multiply(0.5 * (1 - t * t), _TANH_SCALE * (1 + 3 * _TANH_CUBE * x * x), out=slope)
    slope *= x
    slope += below


_TANH_SCALE, _TANH_CUBE = math.sqrt(2 / math.pi), 0.044715


def _gelu_tanh(x: np.ndarray) -> np.ndarray:
    return np.tanh(_TANH_SCALE * (x + _TANH_CUBE * x * x * x))


def _gelu_plainly(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + (x * math.sqrt(0.5)).erf())


def _gelu_tanh_plainly(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: object = None) -> Tensor:
    return softmaxes.softmax(input, _softmax_dim(input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: object = None) -> Tensor:
    return softmaxes.log_softmax(input, _softmax_dim(input, dim), dtype)


def _softmax_dim(input: Tensor, dim: int | None) -> int:
    """torch's (deprecated) choice when dim is not given."""
    return (0 if input.ndim in (0, 1, 3) else 1) if dim is None else dim
