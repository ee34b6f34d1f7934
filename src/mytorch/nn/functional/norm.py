"""Batch, layer and group norm: shift and scale rows of a matrix to mean 0 and variance 1.

Rows are channels for batch norm and samples for the others. Sums over rows are BLAS products; the variance
is taken after subtracting the mean, since E[x²] - E[x]² loses all digits when the mean is large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from mytorch.autograd import needs, recomputed, record, spelled_out
from mytorch.parallel import PASS, in_pieces
from mytorch.tensor import Tensor

from .layout import batch_first, batch_last
from .pad import pad

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]

_BLOCK = 1 << 19  # numbers in a block of rows: with smaller ones, two threads mostly wait for the interpreter lock


def _by_rows(work: Callable[[slice], None], rows: np.ndarray) -> None:
    """Calls work(block) for blocks of rows that fit the cache, so that its several passes read memory once."""
    count, size = rows.shape
    step = max(1, _BLOCK // max(size, 1))

    def several(piece: slice) -> None:
        # OpenBLAS may look at what lies behind a short row, and report that it was no number
        with np.errstate(all="ignore"):
            for start in range(piece.start, piece.stop, step):
                work(slice(start, min(start + step, piece.stop)))

    in_pieces(several, count, PASS * rows.size)


def _standardise(
    rows: np.ndarray, eps: float, finish: Callable[[slice, np.ndarray, np.ndarray], None]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """rows (R, M) -> deviations from each row's mean (R, M), then mean, variance and 1/std, each (R, 1).

    finish(block, deviations, 1/std) is called for every block of rows while its deviations are in the cache.
    """
    count, size = rows.shape
    share = np.full((size, 1), 1.0 / size, rows.dtype)
    deviation = np.empty_like(rows)
    mean, variance, inverse = np.empty((3, count, 1), rows.dtype)

    def work(block: slice) -> None:
        part = deviation[block]
        np.matmul(rows[block], share, out=mean[block])
        np.subtract(rows[block], mean[block], out=part)
        # The mean was rounded: without this step a constant row would have a variance.
        rest = part @ share
        part -= rest
        mean[block] += rest
        np.vecdot(part, part, out=variance[block, 0])
        variance[block] *= 1.0 / size
        inverse[block] = 1.0 / np.sqrt(variance[block] + eps)
        finish(block, part, inverse[block])

    _by_rows(work, rows)
    return deviation, mean, variance, inverse


def _standardise_backward(
    g: np.ndarray, deviation: np.ndarray, inverse: np.ndarray | float, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From g for `deviation * scale`, the gradient for rows and the row sums of g * deviation and of g.

    d/dx = scale * (g - mean(g) - deviation * mean(g * deviation) / std²), inverse being 1/std (with its eps).
    """
    count, size = g.shape
    out = np.empty_like(deviation)
    along, total = np.empty((2, count, 1), g.dtype)
    ones = np.ones((size, 1), g.dtype)

    def work(block: slice) -> None:
        np.vecdot(g[block], deviation[block], out=along[block, 0])
        np.matmul(g[block], ones, out=total[block])
        slope = along[block] * (inverse if isinstance(inverse, float) else inverse[block]) ** 2
        part = np.multiply(deviation[block], slope * (-1.0 / size), out=out[block])
        part += g[block]
        part -= total[block] * (1.0 / size)
        part *= scale[block]

    _by_rows(work, g)
    return out, along, total


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
    if input.ndim < 2 and not input.numel():
        return input.clone()
    if input.ndim < 2:
        raise RuntimeError(f"batch_norm expects input (N, C, ...), but got {list(input.shape)}")
    if not input.numel() and not (training and math.prod(input.shape) // max(input.shape[1], 1) == 1):
        return _nothing(input, weight, bias)
    x = batch_last(input._array)  # (C, ..., N)
    rows = x.reshape(len(x), -1)
    out = np.empty_like(rows)

    def affine(block: slice, deviation: np.ndarray, inverse: np.ndarray) -> None:
        scale = inverse if weight is None else inverse * weight._array[block, None]
        part = np.multiply(deviation, scale, out=out[block])
        if bias is not None:
            part += bias._array[block, None]

    if training:
        size = rows.shape[1]
        if size <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
        deviation, mean, variance, inverse = _standardise(rows, eps, affine)
        if running_mean is not None:
            _update(running_mean, mean[:, 0], momentum)
        if running_var is not None:
            _update(running_var, variance[:, 0] * (size / (size - 1)), momentum)
    else:
        if running_mean is None or running_var is None:
            raise ValueError("Expected running_mean and running_var to be not None when training=False")
        deviation = rows - running_mean._array[:, None]
        inverse = 1.0 / np.sqrt(running_var._array[:, None] + eps)
        _by_rows(lambda block: affine(block, deviation[block], inverse[block]), rows)
    scale = inverse if weight is None else inverse * weight._array[:, None]
    shape = x.shape
    parents = tuple(t for t in (input, weight, bias) if t is not None)

    def batch_norm_backward(grad: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray | None, ...]:
        g = batch_last(grad).reshape(len(scale), -1)
        if training:
            gx, along, total = _standardise_backward(g, deviation, inverse, scale)
        else:
            gx, along, total = g * scale, np.vecdot(g, deviation)[:, None], g.sum(1, keepdims=True)
        grads = [batch_first(gx.reshape(shape))]
        if weight is not None:
            grads.append((along * inverse)[:, 0])
        if bias is not None:
            grads.append(total[:, 0])
        return tuple(grads)

    middle = mean if training else np.array(running_mean._array[:, None])  # type: ignore[union-attr]
    result = batch_first(out.reshape(shape))
    fixed = None if training else (Tensor(middle[:, 0]), Tensor(inverse[:, 0]))

    def plainly(x: Tensor, *affine: Tensor) -> Tensor:
        column = (-1,) + (1,) * (x.ndim - 2)
        axes = [d for d in range(x.ndim) if d != 1]
        away = x - (x.mean(axes, keepdim=True) if fixed is None else fixed[0].reshape(column))
        scale = ((away * away).mean(axes, keepdim=True) + eps).rsqrt() if fixed is None else fixed[1].reshape(column)
        return _affine(away * scale, [t.reshape(column) for t in affine], weight, bias)

    saved = (recomputed(input, lambda: batch_first((deviation + middle).reshape(shape))), *parents[1:])
    # Only images lie batch last outside this package: features (N, C) leave contiguous.
    result = np.ascontiguousarray(result) if result.ndim == 2 else result
    return record(result, parents, batch_norm_backward, saved, again=spelled_out(plainly))


def _affine(normal: Tensor, given: list[Tensor], weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """normal * weight + bias; `given` holds those of the two that are not None, in the shape to multiply with."""
    out = normal if weight is None else normal * given[0]
    return out if bias is None else out + given[-1]


def _nothing(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """The result for an empty batch: it is empty too, and gradients are zeros."""
    column = (-1,) + (1,) * (input.ndim - 2)
    return _affine(input.clone(), [t.reshape(column) for t in (weight, bias) if t is not None], weight, bias)


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
    _check_inner(shape, inner)
    if not input.numel():
        return _affine(input.clone(), [t for t in (weight, bias) if t is not None], weight, bias)
    size = int(np.prod(inner))
    rows = input._array.reshape(-1, size)  # (R, M)
    gain, shift = (None if t is None else t._array.reshape(size) for t in (weight, bias))
    out = np.empty_like(rows)

    def affine(block: slice, deviation: np.ndarray, inverse: np.ndarray) -> None:
        deviation *= inverse  # becomes `normal`
        part = np.multiply(deviation, 1.0 if gain is None else gain, out=out[block])
        if shift is not None:
            part += shift

    normal, mean, _, inverse = _standardise(rows, eps, affine)
    wants_x = needs(input)

    def layer_norm_backward(grad: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray | None, ...]:
        g = grad.reshape(-1, size)
        gx = None
        if wants_x:
            # 1/std is in `normal` already.
            inward = g if gain is None else g * gain
            gx = _standardise_backward(inward, normal, 1.0, inverse)[0].reshape(shape)
        grads: list[np.ndarray | None] = [gx]
        if weight is not None:
            grads.append((g * normal).sum(0).reshape(inner))
        if bias is not None:
            grads.append(g.sum(0).reshape(inner))
        return tuple(grads)

    parents = tuple(t for t in (input, weight, bias) if t is not None)
    axes = list(range(len(shape) - len(inner), len(shape)))

    def plainly(x: Tensor, *affine: Tensor) -> Tensor:
        away = x - x.mean(axes, keepdim=True)
        normal = away * ((away * away).mean(axes, keepdim=True) + eps).rsqrt()
        return _affine(normal, list(affine), weight, bias)

    saved = (recomputed(input, lambda: (normal / inverse + mean).reshape(shape)), *parents[1:])
    return record(out.reshape(shape), parents, layer_norm_backward, saved, again=spelled_out(plainly))


def _check_inner(shape: tuple[int, ...], inner: tuple[int, ...]) -> None:
    if not inner or shape[len(shape) - len(inner) :] != inner:
        raise RuntimeError(
            f"Given normalized_shape={list(inner)}, expected input with shape {['*', *inner]}, but got "
            f"input of size {list(shape)}"
        )


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """input (N, C, ...): each sample's channels in num_groups groups, each by its own statistics."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    n, c = input.shape[:2]
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
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


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """input (N, C, ...): each channel of each sample by its own statistics: a batch norm of N*C channels."""
    n, c = input.shape[:2]
    if use_input_stats and math.prod(input.shape[2:]) <= 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    means, variances = (None if t is None else Tensor(np.tile(t._array, n)) for t in (running_mean, running_var))
    repeated = [None if t is None else t.repeat(n) for t in (weight, bias)]
    rows = input.reshape(1, n * c, *input.shape[2:])
    out = batch_norm(rows, means, variances, repeated[0], repeated[1], use_input_stats, momentum, eps)
    if use_input_stats:
        for running, each in ((running_mean, means), (running_var, variances)):
            if running is not None and each is not None:  # the mean of what each sample would have made of it
                running._array[...] = each._array.reshape(n, c).mean(0)
                running._version[0] += 1
    return out.reshape(input.shape)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divided by the root of the mean square over the last dimensions, which must be normalized_shape."""
    inner = tuple(normalized_shape)
    _check_inner(input._array.shape, inner)
    axes = list(range(input.ndim - len(inner), input.ndim))
    small = float(np.finfo(input._array.dtype).eps) if eps is None else eps
    out = input * ((input * input).mean(axes, keepdim=True) + small).rsqrt()
    return out if weight is None else out * weight


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divided by a power of the mean square of `size` neighbouring channels."""
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if not input.numel():
        return input
    squares = pad(input * input, [0, 0] * (input.ndim - 2) + [size // 2, (size - 1) // 2])
    mean = squares.unfold(1, size, 1).sum(-1) / size
    return input / (mean * alpha + k) ** beta
