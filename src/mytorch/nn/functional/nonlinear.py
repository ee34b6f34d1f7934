"""The smaller activations, each written with tensor operations: their gradients follow by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.ops.inplace import apply
from mytorch.ops.pointwise import where
from mytorch.ops.reduce import axis_of
from mytorch.random import numpy_generator
from mytorch.tensor import Tensor

from .activation import elu, hardtanh, leaky_relu, relu, relu6, sigmoid, softmax, softplus, tanh

__all__ = [
    "celu", "celu_", "elu_", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh_",
    "leaky_relu_", "mish", "prelu", "relu_", "rrelu", "rrelu_", "selu", "selu_", "softmin", "softshrink", "softsign",
    "tanhshrink", "threshold", "threshold_",
]  # fmt: skip


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """A slope below zero that is learnt: one for all, or one per channel (dim 1)."""
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.numel() != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if not input.ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        if weight.numel() != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
        weight = weight.reshape((-1,) + (1,) * (input.ndim - 2)) if input.ndim > 1 else weight
    elif weight.ndim > input.ndim:
        weight = weight.reshape(())
    return where(input > 0, input, input * weight)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """A slope below zero drawn anew for each number; when not training, the mean of the bounds."""
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, but got {lower} > {upper}")
    if inplace:
        return apply(input, rrelu, (lower, upper, training), {})
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    slopes = numpy_generator(None).uniform(lower, upper, input.shape).astype(input._array.dtype)
    return where(input > 0, input, input * Tensor(np.asarray(slopes)))


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x above zero, alpha * (e^(x / alpha) - 1) below."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    if inplace:
        return apply(input, celu, (alpha,), {})
    return elu(input / alpha) * alpha


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """ELU with the constants that keep mean 0 and variance 1 (Klambauer et al., 2017)."""
    if inplace:
        return apply(input, selu, (), {})
    return elu(input, 1.6732632423543772848170429916717) * 1.0507009873554804934193349852946


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return apply(input, mish, (), {})
    return input * tanh(softplus(input))


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """The sigmoid as three straight lines: 0 below -3, 1 above 3."""
    if inplace:
        return apply(input, hardsigmoid, (), {})
    return relu6(input + 3) / 6


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return apply(input, hardswish, (), {})
    # where and not a product with clamp: torch's slope at -3 and 3 is that of the middle piece
    inner = input * (input + 3) / 6
    return where(input < -3, input * 0, where(input <= 3, inner, input))


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 within lambd of zero; nan stays nan."""
    return where((input >= -lambd) & (input <= lambd), input * 0, input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Moved towards zero by lambd, and 0 within lambd of it."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return input - hardtanh(input, -lambd, lambd) if lambd else input * 1


def tanhshrink(input: Tensor) -> Tensor:
    return input - tanh(input)


def softsign(input: Tensor) -> Tensor:
    return input / (1 + input.abs())


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    return softmax(-input, dim, dtype=dtype)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above the threshold, the value elsewhere."""
    if inplace:
        return apply(input, _threshold, (threshold, value), {})
    return _threshold(input, threshold, value)


def _threshold(input: Tensor, level: float, value: float) -> Tensor:
    return input.masked_fill(input <= level, value)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dim, each number let through by the sigmoid of its partner in the second half."""
    if not input.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    size = input.shape[axis_of(dim, input.ndim)]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {size}")
    first, second = input.chunk(2, dim)
    return first * sigmoid(second)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A softmax of logits with Gumbel noise; hard gives one-hot values with the soft ones' gradient."""
    noise = -np.log(numpy_generator(None).exponential(size=logits.shape))
    soft = softmax((logits + Tensor(np.asarray(noise, logits._array.dtype))) / tau, dim)
    if not hard:
        return soft
    one_hot = np.zeros(soft.shape, soft._array.dtype)
    np.put_along_axis(one_hot, soft._array.argmax(dim, keepdims=True), 1.0, dim)
    return Tensor(one_hot) - soft.detach() + soft


def _in_place(function: Any) -> Any:
    """relu_(x) is relu(x, inplace=True)."""

    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return apply(input, function, args, kwargs)

    call.__name__ = call.__qualname__ = function.__name__.strip("_") + "_"
    return call


relu_, elu_, celu_, selu_ = _in_place(relu), _in_place(elu), _in_place(celu), _in_place(selu)
leaky_relu_, hardtanh_, rrelu_ = _in_place(leaky_relu), _in_place(hardtanh), _in_place(rrelu)
threshold_ = _in_place(_threshold)
