"""Pooling over one and three dimensions, adaptive and fractional maxima, and max unpooling."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from mytorch.ops.shape import stack
from mytorch.tensor import Tensor

from .layout import numbers
from .pad import pad
from .pool import _cells, _out_size, adaptive_avg_pool2d, avg_pool2d, lowest, max_pool2d, output_sizes
from .resize import along

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool3d", "fractional_max_pool2d", "fractional_max_pool3d", "lp_pool1d",
    "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip


def _flat_pair(value: Any, neutral: int) -> Any:
    """A setting for one dimension as a setting for images of height 1."""
    return None if value is None or value in ((), []) else (neutral, *numbers(value, 1))


def _check(input: Tensor, rank: int, name: str) -> None:
    if input.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{name}: Expected {rank + 1}D or {rank + 2}D input, but got input of size: {list(input.shape)}"
        )


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """(N, C, L) or (C, L)."""
    _check(input, 1, "max_pool1d")
    if 0 in input.shape[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got: "
            f"{list(input.shape)}"
        )
    if min(numbers(dilation, 1)) <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")
    out = max_pool2d(
        input.unsqueeze(-2), _flat_pair(kernel_size, 1), _flat_pair(stride, 1), _flat_pair(padding, 0),
        _flat_pair(dilation, 1), ceil_mode, return_indices,
    )  # fmt: skip
    return out.squeeze(-2) if isinstance(out, Tensor) else tuple(t.squeeze(-2) for t in out)


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    _check(input, 1, "avg_pool1d")
    out = avg_pool2d(
        input.unsqueeze(-2), _flat_pair(kernel_size, 1), _flat_pair(stride, 1), _flat_pair(padding, 0), ceil_mode,
        count_include_pad,
    )  # fmt: skip
    return out.squeeze(-2)


class _Volume:
    """Windows over (N, C, D, H, W): the padded input's windows in a last dim, and how many of their cells count."""

    def __init__(self, input: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, name: str):
        _check(input, 3, name)
        if 0 in input.shape[-4:]:
            raise RuntimeError(
                f"{name}: Expected input's non-batch dimensions to have positive length: {list(input.shape)}"
            )
        self.kernel, self.pad, self.dilation = (numbers(v, 3) for v in (kernel, padding, dilation))
        self.stride = self.kernel if stride is None or stride in ((), []) else numbers(stride, 3)
        if min(self.stride) <= 0:
            raise RuntimeError(f"stride should not be zero, but got {self.stride}")
        for p, k, d in zip(self.pad, self.kernel, self.dilation):
            if p < 0 or 2 * p > d * (k - 1) + 1:
                raise RuntimeError(
                    f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k}"
                )
        self.size = input.shape[-3:]
        self.out = tuple(
            _out_size(n, k, s, p, d, ceil)
            for n, k, s, p, d in zip(self.size, self.kernel, self.stride, self.pad, self.dilation)
        )
        if min(self.out) <= 0:
            raise RuntimeError(
                f"Given input size: {list(input.shape)}. Calculated output size is too small: {self.out}"
            )

    def windows(self, input: Tensor, value: float) -> Tensor:
        """(N, C, Do, Ho, Wo, cells)."""
        sides = []
        for n, k, s, p, d, o in zip(self.size, self.kernel, self.stride, self.pad, self.dilation, self.out):
            sides.append((p, max(0, (o - 1) * s + d * (k - 1) + 1 - n - p)))
        wide = pad(input, [n for side in reversed(sides) for n in side], value=value)
        cells = [
            wide[
                ...,
                *[
                    slice(i * d, i * d + (o - 1) * s + 1, s)
                    for i, d, o, s in zip(at, self.dilation, self.out, self.stride)
                ],
            ]
            for at in itertools.product(*[range(k) for k in self.kernel])
        ]
        return stack(cells, -1)


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    volume = _Volume(input, kernel_size, stride, padding, dilation, ceil_mode, "max_pool3d")
    values, at = volume.windows(input, lowest(input._array.dtype)).max(-1)
    if not return_indices:
        return values
    places = Tensor(np.arange(math.prod(volume.size), dtype=np.float64).reshape(1, *volume.size))
    indices = volume.windows(places, -1.0)._array.astype(np.int64)  # (1, Do, Ho, Wo, cells)
    winners = np.take_along_axis(np.broadcast_to(indices, (*at.shape, indices.shape[-1])), at._array[..., None], -1)
    return values, Tensor(winners[..., 0])


def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    volume = _Volume(input, kernel_size, stride, padding, 1, ceil_mode, "avg_pool3d")
    kind = input._array.dtype
    if kind.kind != "f" and kind != np.int64:
        raise NotImplementedError(f"avg_pool3d takes floating-point numbers or int64, but got {input.dtype}")
    total, rounding = volume.windows(input, 0).sum(-1), None if kind.kind == "f" else "trunc"
    if divisor_override is not None:
        return total.div(divisor_override, rounding_mode=rounding)
    counts = np.ones((), np.float64)
    for axis in range(3):
        n, p = volume.size[axis], volume.pad[axis]
        start = np.arange(volume.out[axis]) * volume.stride[axis] - p
        end = np.minimum(start + volume.kernel[axis], n + p)
        count = end - start if count_include_pad else np.minimum(end, n) - np.maximum(start, 0)
        counts = counts[..., None] * count
    return total.div(Tensor(counts.astype(kind)), rounding_mode=rounding)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, *output_sizes(input, output_size, 1))).squeeze(-2)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means over cells are means along each dimension in turn."""
    if input._array.dtype.kind != "f":
        raise NotImplementedError(f"adaptive_avg_pool3d takes floating-point numbers, but got {input.dtype}")
    out = input
    for axis, o in zip((-3, -2, -1), output_sizes(input, output_size, 3)):
        n = input.shape[axis]
        matrix = np.zeros((o, n), input._array.dtype)
        for i, cell in enumerate(_cells(n, o)):
            matrix[i, cell] = 1 / (cell.stop - cell.start)
        out = along(out, axis, matrix)
    return out


def _adaptive_max(input: Tensor, output_size: Any, return_indices: bool, rank: int) -> Any:
    full, wanted = input.shape[-rank:], output_sizes(input, output_size, rank)
    places = np.arange(math.prod(full)).reshape(full)
    flat = input.reshape(*input.shape[:-rank], -1)
    indices: Any = np.zeros((*input.shape[:-rank], *wanted), np.int64)
    for at in itertools.product(*[range(o) for o in wanted]):
        cell: Any = tuple(_cells(n, o)[i] for n, o, i in zip(full, wanted, at))
        inner = places[cell].reshape(-1)
        indices[(..., *at)] = inner[input._array[(..., *cell)].reshape(*input.shape[:-rank], -1).argmax(-1)]
    shape = indices.shape
    values = flat.gather(-1, Tensor(indices.reshape(*input.shape[:-rank], -1))).reshape(shape)
    return (values, Tensor(indices)) if return_indices else values


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    return _adaptive_max(input, output_size, return_indices, 1)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    return _adaptive_max(input, output_size, return_indices, 2)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    return _adaptive_max(input, output_size, return_indices, 3)


def _unpooled(input: Tensor, indices: Tensor, kernel: Any, stride: Any, padding: Any, size: Any, rank: int) -> Tensor:
    """Zeros everywhere except at the places of the maxima."""
    if indices._array.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
    if indices.shape != input.shape:
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)})")
    kernel = numbers(kernel, rank)
    steps = kernel if stride is None or stride in ((), []) else numbers(stride, rank)
    natural = [
        (n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-rank:], steps, kernel, numbers(padding, rank))
    ]
    out = natural if size is None else [int(n) for n in tuple(size)[-rank:]]
    for o, n, s in zip(out, natural, steps):
        if size is not None and not n - s < o < n + s:
            raise ValueError(f"invalid output_size {tuple(size)}: must be within a stride of {tuple(natural)}")
    lead = input.shape[:-rank]
    empty = Tensor(np.zeros((*lead, math.prod(out)), input._array.dtype))
    flat = empty.scatter(-1, indices.reshape(*lead, -1), input.reshape(*lead, -1))
    return flat.reshape(*lead, *out)


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    return _unpooled(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    return _unpooled(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    return _unpooled(input, indices, kernel_size, stride, padding, output_size, 3)


def _root_of_sum(mean: Tensor, count: int, p: float) -> Tensor:
    return (mean.sign() * mean.abs().relu() * count) ** (1 / p)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window."""
    mean = avg_pool1d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return _root_of_sum(mean, math.prod(numbers(kernel_size, 1)), norm_type)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    mean = avg_pool2d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return _root_of_sum(mean, math.prod(numbers(kernel_size, 2)), norm_type)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    mean = avg_pool3d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return _root_of_sum(mean, math.prod(numbers(kernel_size, 3)), norm_type)


def _fractional(
    input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool, samples: Any, rank: int
) -> Any:
    """Maxima of windows at random distances (Graham, 2014): steps of two lengths in a random order."""
    from mytorch.random import rand

    _check(input, rank, f"fractional_max_pool{rank}d")
    if (output_size is None) == (output_ratio is None):
        raise ValueError("fractional_max_pool requires specifying either an output_size or an output_ratio")
    kernel, full = numbers(kernel_size, rank), input.shape[-rank:]
    if output_ratio is not None:
        ratios = (output_ratio,) * rank if isinstance(output_ratio, float) else tuple(output_ratio)
        if not all(0 < r < 1 for r in ratios):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        output_size = tuple(int(n * r) for n, r in zip(full, ratios))
    out = numbers(output_size, rank)
    batch = input if input.ndim == rank + 2 else input.unsqueeze(0)
    if samples is None:
        samples = rand(*batch.shape[:2], rank, dtype=input.dtype)
    places = np.arange(math.prod(full)).reshape(full)
    indices = np.zeros((*batch.shape[:2], *out), np.int64)
    for n, c in itertools.product(*map(range, batch.shape[:2])):
        starts = [_starts(float(samples._array[n, c, rank - 1 - k]), full[k], out[k], kernel[k]) for k in range(rank)]
        for at in itertools.product(*map(range, out)):
            cell = tuple(slice(starts[k][i], starts[k][i] + kernel[k]) for k, i in enumerate(at))
            best = batch._array[(n, c, *cell)].argmax()
            indices[(n, c, *at)] = places[cell].reshape(-1)[best]
    lead = batch.shape[:2]
    values = (
        batch.reshape(*lead, math.prod(full))
        .gather(-1, Tensor(indices.reshape(*lead, math.prod(out))))
        .reshape(indices.shape)
    )
    winners = Tensor(indices)
    if input.ndim == rank + 1:
        values, winners = values.squeeze(0), winners.squeeze(0)
    return (values, winners) if return_indices else values


def _starts(sample: float, size: int, out: int, kernel: int) -> list[int]:
    alpha = (size - kernel) / (out - 1) if out > 1 else 0.0
    steps = [int((i + sample) * alpha) - int(sample * alpha) for i in range(out - 1)]
    return [*steps, size - kernel]


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    return _fractional(input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 2)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    return _fractional(input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 3)
