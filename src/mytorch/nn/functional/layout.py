"""How images lie in memory: (N, C, H, W) to the caller, (C, H, W, N) underneath.

With the batch innermost, a window moved by a pixel is a long run of memory, and so is one channel of a whole
batch: unfolding, pooling and batch statistics become few large NumPy calls. Elementwise operations keep the
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mytorch.parallel import PASS, in_pieces

Pair = tuple[int, int]
Border = tuple[int, int, int, int]  # pixels at the top, bottom, left and right
_LARGE = 1 << 17  # numbers that are worth moving in several goes
_BLOCK = 1 << 19  # numbers of the image that stay in the cache while several steps work on them


def batch_last(x: np.ndarray) -> np.ndarray:
    """(N, C, ...) -> contiguous (C, ..., N); free when x already lies so."""
    order = (*range(1, x.ndim), 0)
    moved = x.transpose(order)
    if x.size < _LARGE or moved.flags.c_contiguous:
        return np.ascontiguousarray(moved)
    # Samples lie far apart, often by a power of two: all at once they push each other out of the cache.
    out = np.empty(moved.shape, x.dtype)
    for start in range(0, len(x), 8):
        out[..., start : start + 8] = x[start : start + 8].transpose(order)
    return out


def by_channel(work: Callable[[slice], None], x: np.ndarray, passes: int = 1) -> None:
    """work(some channels) of an image x (C, H, W, N), on all threads; `passes` over it miss the cache."""
    step = max(1, _BLOCK * len(x) // max(x.size, 1))

    def several(piece: slice) -> None:
        for start in range(piece.start, piece.stop, step):
            work(slice(start, min(start + step, piece.stop)))

    in_pieces(several, len(x), passes * PASS * x.size)


def batch_first(x: np.ndarray) -> np.ndarray:
    """(C, ..., N) -> (N, C, ...), a view."""
    return x.transpose(-1, *range(x.ndim - 1))


def pair(value: object) -> Pair:
    """torch's int-or-two-ints arguments."""
    return numbers(value, 2)


def numbers(value: Any, count: int) -> Any:
    """torch's int-or-several-ints arguments, for `count` dimensions."""
    if isinstance(value, int | np.integer):
        return (int(value),) * count
    sizes = tuple(int(v) for v in value)
    if len(sizes) == 1:
        return sizes * count
    if len(sizes) != count:
        raise RuntimeError(f"expected an int or {count} ints, but got {sizes}")
    return sizes


class Window(NamedTuple):
    """A sliding window over the H and W of (C, H, W, N) memory."""

    kernel: Pair
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)

    def span(self) -> Pair:
        """Pixels from a window's first to its last, both included."""
        (kh, kw), (dh, dw) = self.kernel, self.dilation
        return dh * (kh - 1) + 1, dw * (kw - 1) + 1

    def positions(self, height: int, width: int) -> Pair:
        """How many windows fit."""
        (eh, ew), (sh, sw) = self.span(), self.stride
        return (height - eh) // sh + 1, (width - ew) // sw + 1

    def taps(self, rows: range, columns: int) -> Iterator[tuple[int, int, slice, slice]]:
        """For each kernel cell (i, j), the pixels it meets while the window takes these positions."""
        (kh, kw), (sh, sw), (dh, dw) = self.kernel, self.stride, self.dilation
        for i in range(kh):
            top = i * dh + rows.start * sh
            down = slice(top, top + (len(rows) - 1) * sh + 1, sh)
            for j in range(kw):
                yield i, j, down, slice(j * dw, j * dw + (columns - 1) * sw + 1, sw)


def padded(x: np.ndarray, top: int, bottom: int, left: int, right: int, value: float = 0.0) -> np.ndarray:
    """(C, H, W, N) with a border of `value`; x itself when there is none."""
    if not (top or bottom or left or right):
        return x
    c, h, w, n = x.shape
    whole = np.empty((c, top + h + bottom, left + w + right, n), x.dtype)

    def work(channels: slice) -> None:
        out = whole[channels]
        out[:, :top] = out[:, top + h :] = value
        out[:, top : top + h, :left] = out[:, top : top + h, left + w :] = value
        out[:, top : top + h, left : left + w] = x[channels]

    by_channel(work, x)
    return whole
