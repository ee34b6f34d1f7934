"""Pooling: one NumPy call for each cell of the window, over all windows at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from mytorch.autograd import needs, record
from mytorch.tensor import Tensor

from .layout import Pair, Window, batch_first, batch_last, by_channel, padded, pair

__all__ = ["adaptive_avg_pool2d", "avg_pool2d", "max_pool2d"]


def _out_size(size: int, kernel: int, stride: int, pad: int, dilation: int, ceil_mode: bool) -> int:
    room = size + 2 * pad - dilation * (kernel - 1) - 1
    out = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (out - 1) * stride >= size + pad:
        out -= 1  # a window must start inside the image or its left padding
    return out


class _Pooling:
    """Where the windows of one call lie: `window`, the output's size and the border it reaches over."""

    def __init__(
        self,
        shape: tuple[int, ...],
        kernel_size: int | Pair,
        stride: int | Pair | None,
        padding: int | Pair,
        dilation: int | Pair,
        ceil_mode: bool,
    ):
        kernel = pair(kernel_size)
        self.window = Window(kernel, kernel if stride is None or stride in ([], ()) else pair(stride), pair(dilation))
        self.pad = pair(padding)
        if any(s <= 0 for s in self.window.stride):
            raise RuntimeError(f"stride should not be zero, but got {self.window.stride}")
        for axis, (p, span) in enumerate(zip(self.pad, self.window.span())):
            if p < 0 or 2 * p > span:
                raise RuntimeError(
                    "pad should be at most half of effective kernel size, but got "
                    f"pad={p}, kernel_size={kernel[axis]} and dilation={self.window.dilation[axis]}"
                )
        self.size = shape[2:]
        self.out = tuple(
            _out_size(
                shape[2 + k],
                kernel[k],
                self.window.stride[k],
                self.pad[k],
                self.window.dilation[k],
                ceil_mode,
            )
            for k in (0, 1)
        )
        if min(self.out) <= 0:
            raise RuntimeError(
                f"Given input size: ({shape[1]}x{shape[2]}x{shape[3]}). Calculated output size: "
                f"({shape[1]}x{self.out[0]}x{self.out[1]}). Output size is too small"
            )
        self.overlaps = any(step < span for step, span in zip(self.window.stride, self.window.span()))
        # whether every pixel is in exactly one window
        plain = self.window == Window(kernel, kernel) and self.pad == (0, 0)
        self.covers = plain and all(size == n * k for size, n, k in zip(shape[2:], self.out, kernel))
        self.number: Any = np.uint8 if kernel[0] * kernel[1] < 256 else np.int32  # counts a window's cells
        # Right of and below the image, windows may reach further than the padding (ceil_mode) or stop short.
        self.reach = [(self.out[k] - 1) * self.window.stride[k] + self.window.span()[k] for k in (0, 1)]

    def bordered(self, x: np.ndarray, value: float) -> np.ndarray:
        (ph, pw), (h, w) = self.pad, self.size
        return padded(x, ph, max(0, self.reach[0] - ph - h), pw, max(0, self.reach[1] - pw - w), value)

    def inner(self, x: np.ndarray) -> np.ndarray:
        (ph, pw), (h, w) = self.pad, self.size
        return x[:, ph : ph + h, pw : pw + w]

    def taps(self) -> Iterator[tuple[slice, slice]]:
        """The pixels that are the first cell of their windows, those that are the second, and so on."""
        for _, _, down, across in self.window.taps(range(self.out[0]), self.out[1]):
            yield down, across


def max_pool2d(
    input: Tensor,
    kernel_size: int | Pair,
    stride: int | Pair | None = None,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest pixel of each window; its gradient goes to the first of equals, as in torch."""
    if input.ndim == 3:
        result = max_pool2d(input.unsqueeze(0), kernel_size, stride, padding, dilation, ceil_mode, return_indices)
        return result.squeeze(0) if isinstance(result, Tensor) else (result[0].squeeze(0), result[1].squeeze(0))
    _check_rank(input)
    place = _Pooling(input._array.shape, kernel_size, stride, padding, dilation, ceil_mode)
    x = place.bordered(batch_last(input._array), lowest(input._array.dtype))
    out = np.empty((len(x), *place.out, x.shape[3]), x.dtype)
    # Which cell of its window each result came from; only a larger one takes over from the first.
    winner = np.zeros(out.shape if return_indices or needs(input) else (), place.number)

    def forward(channels: slice) -> None:
        best = out[channels]
        for number, (down, across) in enumerate(place.taps()):
            cell = x[channels, down, across]
            if not number:
                best[...] = cell
                continue
            if winner.ndim:
                np.maximum(winner[channels], (cell > best) * place.number(number), out=winner[channels])
            np.maximum(best, cell, out=best)

    by_channel(forward, x, 2)
    shape = x.shape

    def max_pool2d_backward(grad: np.ndarray) -> tuple[np.ndarray]:
        g = batch_last(grad)
        gx = np.empty(shape, g.dtype)

        def backward(channels: slice) -> None:
            part = gx[channels]
            if not place.covers:
                part[...] = 0
            for number, (down, across) in enumerate(place.taps()):
                if place.overlaps:
                    part[:, down, across] += g[channels] * (winner[channels] == number)
                else:
                    np.multiply(g[channels], winner[channels] == number, out=part[:, down, across])

        by_channel(backward, gx, 2)
        return (batch_first(place.inner(gx)),)

    def largest(values: np.ndarray) -> np.ndarray:
        """Values of another array at the places where the maxima were."""
        v = place.bordered(batch_last(values), 0.0)
        return batch_first(sum(v[:, d, a] * (winner == number) for number, (d, a) in enumerate(place.taps())))

    result = record(batch_first(out), (input,), max_pool2d_backward, forward=largest)
    if not return_indices:
        return result
    pixel = np.arange(place.size[0] * place.size[1]).reshape(1, *place.size, 1)
    pixel = place.bordered(pixel, -1)  # the border never wins
    indices = np.zeros(out.shape, np.int64)
    for number, (down, across) in enumerate(place.taps()):
        indices += pixel[:, down, across] * (winner == number)
    return result, Tensor(np.ascontiguousarray(batch_first(indices)))


def lowest(kind: np.dtype) -> float:
    """What no value of a type is below: it fills the border of an image whose largest pixels are looked for."""
    if kind.kind == "b":
        raise NotImplementedError("max_pool takes numbers, but got torch.bool")
    return -math.inf if kind.kind == "f" else np.iinfo(kind).min


def avg_pool2d(
    input: Tensor,
    kernel_size: int | Pair,
    stride: int | Pair | None = None,
    padding: int | Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window."""
    if input.ndim == 3:
        one = input.unsqueeze(0)
        return avg_pool2d(one, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override).squeeze(0)
    _check_rank(input)
    place = _Pooling(input._array.shape, kernel_size, stride, padding, 1, ceil_mode)
    x = place.bordered(batch_last(input._array), 0.0)
    shape = x.shape
    if x.dtype.kind != "f":
        return Tensor(_whole_means(place, x, _counts(place, count_include_pad, divisor_override)))
    share = (1.0 / _counts(place, count_include_pad, divisor_override)).astype(x.dtype)

    def averaged(x: np.ndarray) -> np.ndarray:
        out = np.zeros((len(x), *place.out, x.shape[3]), x.dtype)
        for down, across in place.taps():
            out += x[:, down, across]
        out *= share
        return batch_first(out)

    def avg_pool2d_backward(grad: np.ndarray) -> tuple[np.ndarray]:
        g = batch_last(grad) * share
        gx = np.zeros(shape, g.dtype)
        for down, across in place.taps():
            if place.overlaps:
                gx[:, down, across] += g
            else:
                gx[:, down, across] = g
        return (batch_first(place.inner(gx)),)

    return record(
        averaged(x),
        (input,),
        avg_pool2d_backward,
        forward=lambda values: averaged(place.bordered(batch_last(values), 0.0)),
    )


def _whole_means(place: _Pooling, x: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Means of whole numbers, cut off after the point."""
    if x.dtype != np.int64:
        raise NotImplementedError(f"avg_pool2d takes floating-point numbers or int64, but got {x.dtype}")
    total = sum(x[:, down, across] for down, across in place.taps())
    return batch_first(np.trunc(total / counts).astype(x.dtype))


def _counts(place: _Pooling, include_pad: bool, divisor: int | None) -> np.ndarray:
    """What the sum of each window is divided by: its number of pixels, (Ho, Wo, 1), or one number."""
    if divisor is not None:
        if divisor == 0:
            raise RuntimeError("divisor must be not zero")
        return np.array(divisor)
    counts = []
    for k in (0, 1):
        size, pad = place.size[k], place.pad[k]
        start = np.arange(place.out[k]) * place.window.stride[k] - pad
        end = np.minimum(start + place.window.kernel[k], size + pad)
        counts.append(end - start if include_pad else np.minimum(end, size) - np.maximum(start, 0))
    return counts[0][:, None, None] * counts[1][:, None]


def adaptive_avg_pool2d(input: Tensor, output_size: int | tuple[int | None, int | None]) -> Tensor:
    """The mean of output_size[0] x output_size[1] cells that cover the image and may overlap."""
    sizes = output_sizes(input, output_size, 2)
    if input.ndim == 3:
        return adaptive_avg_pool2d(input.unsqueeze(0), output_size).squeeze(0)
    if input._array.dtype.kind != "f":
        raise NotImplementedError(f"adaptive_avg_pool2d takes floating-point numbers, but got {input.dtype}")
    x = batch_last(input._array)
    down, across = (_cells(full, full if o is None else o) for full, o in zip(x.shape[1:3], sizes))
    shape = x.shape

    def averaged(x: np.ndarray) -> np.ndarray:
        out = np.empty((shape[0], len(down), len(across), shape[3]), x.dtype)
        for i, rows in enumerate(down):
            for j, columns in enumerate(across):
                x[:, rows, columns].mean((1, 2), out=out[:, i, j])
        return batch_first(out)

    def adaptive_avg_pool2d_backward(grad: np.ndarray) -> tuple[np.ndarray]:
        g = batch_last(grad)
        gx = np.zeros(shape, g.dtype)
        for i, rows in enumerate(down):
            for j, columns in enumerate(across):
                area = (rows.stop - rows.start) * (columns.stop - columns.start)
                gx[:, rows, columns] += (g[:, i, j] * (1.0 / area))[:, None, None]
        return (batch_first(gx),)

    return record(
        averaged(x), (input,), adaptive_avg_pool2d_backward, forward=lambda values: averaged(batch_last(values))
    )


def output_sizes(input: Tensor, output_size: Any, rank: int) -> tuple[Any, ...]:
    """What the adaptive pools take: one size or one for each dim, None for the input's own."""
    if input.ndim not in (rank + 1, rank + 2):
        kind = ValueError if rank > 1 and input.ndim < rank + 1 else RuntimeError
        raise kind(f"Input dimension should be at least {rank + 1}, but got input of size {list(input.shape)}")
    wanted = (output_size,) * rank if isinstance(output_size, int) or output_size is None else tuple(output_size)
    if len(wanted) != rank:
        raise RuntimeError(f"adaptive pooling: output_size must be {rank} numbers, but got {wanted}")
    sizes = tuple(n if o is None else o for n, o in zip(input.shape[-rank:], wanted))
    if min(sizes) < 0:
        raise RuntimeError(f"adaptive pooling: elements of output_size must be greater than or equal to 0, not {sizes}")
    return sizes


def _cells(full: int, parts: int) -> list[slice]:
    return [slice(k * full // parts, -(-(k + 1) * full // parts)) for k in range(parts)]


def _check_rank(input: Tensor) -> None:
    if input.ndim != 4:
        raise RuntimeError(
            f"Expected 3D (unbatched) or 4D (batched) input to pooling, but got input of size: {list(input.shape)}"
        )
