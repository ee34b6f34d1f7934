"""Batch, layer and group norm: shift and scale rows of a matrix to mean 0 and variance 1, and the way back.

Rows are channels for batch norm and samples for the others. Sums over rows are BLAS products; the variance
is taken after subtracting the mean, since E[x²] - E[x]² loses all digits when the mean is large.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mytorch.autograd import needs, record
from mytorch.tensor import Tensor

from .layout import batch_first, batch_last


def _standardise(rows: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """rows (R, M) -> deviations from each row's mean (R, M), then mean, variance and 1/std, each (R,)."""
    share = np.full(rows.shape[1], 1.0 / rows.shape[1], rows.dtype)
    mean = rows @ share
    deviation = rows - mean[:, None]
    # One more step takes out the rounding of the mean, so that a constant row has variance 0.
    rest = deviation @ share
    mean += rest
    deviation -= rest[:, None]
    variance = np.vecdot(deviation, deviation)
    variance *= 1.0 / rows.shape[1]
    return deviation, mean, variance, 1.0 / np.sqrt(variance + eps)


def _standardise_backward(g: np.ndarray, deviation: np.ndarray, inverse: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The gradient for rows, from g for `deviation * scale`; inverse is 1/std.

    d/dx = scale * (g - mean(g) - deviation * mean(g * deviation) / variance), with the eps in the variance.
    """
    size = g.shape[1]
    along = np.vecdot(g, deviation)
    along *= inverse * inverse * (-1.0 / size)
    out = deviation * along[:, None]
    out += g
    out -= (g @ np.full(size, 1.0 / size, g.dtype))[:, None]
    out *= scale[:, None]
    return out


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """input (N, C, ...): each channel by its batch's statistics when training, else by the running ones."""
    x = batch_last(input._array)  # (C, ..., N)
    rows = x.reshape(len(x), -1)
    if training:
        size = rows.shape[1]
        if size <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
        deviation, mean, variance, inverse = _standardise(rows, eps)
        if running_mean is not None:
            _update(running_mean, mean, momentum)
        if running_var is not None:
            _update(running_var, variance * (size / (size - 1)), momentum)
    else:
        if running_mean is None or running_var is None:
            raise ValueError("Expected running_mean and running_var to be not None when training=False")
        deviation = rows - running_mean._array[:, None]
        inverse = 1.0 / np.sqrt(running_var._array + eps)
    scale = inverse if weight is None else inverse * weight._array
    out = deviation * scale[:, None]
    if bias is not None:
        out += bias._array[:, None]
    shape = x.shape
    wants_x, has_weight, has_bias = needs(input), weight is not None, bias is not None

    def batch_norm_backward(grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
        g = batch_last(grad).reshape(len(scale), -1)
        gx = None
        if wants_x:
            gx = _standardise_backward(g, deviation, inverse, scale) if training else g * scale[:, None]
            gx = batch_first(gx.reshape(shape))
        grads: list[np.ndarray | None] = [gx]
        if has_weight:
            grads.append(np.vecdot(g, deviation) * inverse)
        if has_bias:
            grads.append(g.sum(1))
        return tuple(grads)

    parents = tuple(t for t in (input, weight, bias) if t is not None)
    saved = () if weight is None else (weight,)
    return record(batch_first(out.reshape(shape)), parents, batch_norm_backward, saved)


def _update(running: Tensor, value: np.ndarray, momentum: float) -> None:
    running._array *= 1 - momentum
    running._array += momentum * value
    running._version[0] += 1


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Each sample by the statistics of its last dimensions, which must be normalized_shape."""
    shape, inner = input._array.shape, tuple(normalized_shape)
    if not inner or shape[len(shape) - len(inner) :] != inner:
        raise RuntimeError(
            f"Given normalized_shape={list(inner)}, expected input with shape {['*', *inner]}, but got "
            f"input of size {list(shape)}"
        )
    size = int(np.prod(inner))
    normal, _, _, inverse = _standardise(input._array.reshape(-1, size), eps)  # (R, M)
    normal *= inverse[:, None]
    out = normal
    if weight is not None:
        out = normal * weight._array.reshape(size)
    if bias is not None:
        out = out + bias._array.reshape(size) if out is normal else np.add(out, bias._array.reshape(size), out=out)
    gain = None if weight is None else weight._array.reshape(size)
    wants_x, has_bias = needs(input), bias is not None

    def layer_norm_backward(grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
        g = grad.reshape(-1, size)
        ones = np.ones(len(g), g.dtype)
        gx = None
        if wants_x:
            # normal has variance 1 already, so its own 1/std is 1.
            inward = g if gain is None else g * gain
            gx = _standardise_backward(inward, normal, np.ones_like(inverse), inverse).reshape(shape)
        grads: list[np.ndarray | None] = [gx]
        if gain is not None:
            grads.append((ones @ (g * normal)).reshape(inner))
        if has_bias:
            grads.append((ones @ g).reshape(inner))
        return tuple(grads)

    parents = tuple(t for t in (input, weight, bias) if t is not None)
    return record(out.reshape(shape), parents, layer_norm_backward, () if weight is None else (weight,), out is normal)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """input (N, C, ...): each sample's channels in num_groups groups, each by its own statistics."""
    n, c = input.shape[:2]
    if c % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    size = int(np.prod(input.shape[1:])) // num_groups
    out = layer_norm(input.reshape(n, num_groups, size), (size,), eps=eps).reshape(input.shape)
    column = (c,) + (1,) * (input.ndim - 2)
    if weight is not None:
        out = out * weight.reshape(column)
    return out if bias is None else out + bias.reshape(column)
