"""nn.init: fills a tensor in place from torch's distributions, outside of the graph."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from mytorch import random
from mytorch.absent import refuse_names
from mytorch.tensor import Tensor


def _fill(tensor: Tensor, values: Any) -> Tensor:
    tensor._array[...] = values
    tensor._version[0] += 1
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    draws = random.numpy_generator(generator).random(tensor._array.shape, _drawn(tensor))
    return _fill(tensor, draws * (b - a) + a)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    draws = random.numpy_generator(generator).standard_normal(tensor._array.shape, _drawn(tensor))
    return _fill(tensor, draws * std + mean)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Normal, cut off at a and b: values outside are drawn again."""
    low, high = (a - mean) / std, (b - mean) / std
    if high < -3 or low > 3:
        raise ValueError(f"the mean must be within 3 std of [a, b], but got mean={mean}, std={std}, a={a}, b={b}")
    source = random.numpy_generator(generator)
    draws = source.standard_normal(tensor._array.shape)
    while (outside := (draws < low) | (draws > high)).any():
        draws[outside] = source.standard_normal(int(outside.sum()))
    return _fill(tensor, draws * std + mean)


def constant_(tensor: Tensor, val: float) -> Tensor:
    return _fill(tensor, val)


def zeros_(tensor: Tensor) -> Tensor:
    return _fill(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    return _fill(tensor, 1)


def eye_(tensor: Tensor) -> Tensor:
    if tensor._array.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _fill(tensor, np.eye(*tensor._array.shape))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor for a layer's std that makes up for what the nonlinearity takes away."""
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity in gains:
        return gains[nonlinearity]
    if nonlinearity in ("sigmoid", "linear") or nonlinearity.startswith("conv"):
        return 1.0
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    shape = tensor._array.shape
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """None for a tensor without elements: there is nothing to draw."""
    if 0 in tensor._array.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Orthonormal rows or columns (whichever are fewer) of the tensor seen as (first, rest)."""
    if tensor._array.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    rows = tensor._array.shape[0]
    columns = tensor._array.size // rows
    tall = random.numpy_generator(generator).standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(tall)
    q *= np.sign(np.diag(r))  # makes the draw uniform over orthogonal matrices
    return _fill(tensor, gain * (q.T if rows < columns else q).reshape(tensor._array.shape))


def fan_in_uniform_(bias: Tensor, weight: Tensor) -> Tensor:
    """The start of Linear's and Conv's biases: uniform within ±1/√fan_in of their weight."""
    fan_in, _ = _calculate_fan_in_and_fan_out(weight)
    bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
    return uniform_(bias, -bound, bound)


def _drawn(tensor: Tensor) -> Any:
    """NumPy draws these two types directly; anything else is drawn in double and cast."""
    return np.float32 if tensor._array.dtype == np.float32 else np.float64


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal, with a share of every column set to zero."""
    if tensor._array.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    normal_(tensor, 0, std)
    rows = tensor._array.shape[0]
    for column in range(tensor._array.shape[1]):
        zeroed = random.numpy_generator(generator).permutation(rows)[: int(np.ceil(sparsity * rows))]
        tensor._array[zeroed, column] = 0
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution's weight that passes as many channels through unchanged as possible."""
    shape = tensor._array.shape
    if len(shape) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    out = shape[0] // groups
    tensor._array[...] = 0
    middle = tuple(length // 2 for length in shape[2:])
    for group in range(groups):
        for channel in range(min(out, shape[1])):
            tensor._array[(group * out + channel, channel, *middle)] = 1
    tensor._version[0] += 1
    return tensor


# the older names
uniform, normal, constant, eye, dirac = uniform_, normal_, constant_, eye_, dirac_
xavier_uniform, xavier_normal, orthogonal = xavier_uniform_, xavier_normal_, orthogonal_
kaiming_uniform, kaiming_normal, sparse = kaiming_uniform_, kaiming_normal_, sparse_


__getattr__ = refuse_names("torch.nn.init")
