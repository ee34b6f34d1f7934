"""Padding of the last dimensions: with a constant, or by reading the input again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mytorch.autograd import linear, record
from mytorch.tensor import Tensor

__all__ = ["pad"]


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """pad is (before, after) of the last dimension, then of the one before it, ...; constant may crop."""
    rank, amounts = input.ndim, [int(p) for p in pad]
    if len(amounts) % 2 or len(amounts) > 2 * rank:
        raise RuntimeError(f"Padding length must be even and at most twice the input's rank {rank}, but got {amounts}")
    sides = [(0, 0)] * (rank - len(amounts) // 2) + list(zip(amounts[-2::-2], amounts[::-2]))
    if mode == "constant":
        return _constant(input, sides, 0.0 if value is None else value)
    if value:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    for axis, (before, after) in enumerate(sides):
        if before or after:
            input = _shown(input, axis, _source(input.shape[axis], before, after, mode))
    return input


def _constant(input: Tensor, sides: list[tuple[int, int]], value: float) -> Tensor:
    x = input._array
    sizes = [n + before + after for n, (before, after) in zip(x.shape, sides)]
    if min(sizes, default=0) < 0:
        raise RuntimeError(f"The input size {list(x.shape)}, plus padding {sides}, resulted in a negative output size")
    # Where the input lies in the output, and which part of the input that is.
    place = tuple(slice(max(b, 0), size - max(a, 0)) for size, (b, a) in zip(sizes, sides))
    part = tuple(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(x.shape, sides))
    shape = x.shape

    def filled(x: np.ndarray, value: float = 0.0) -> np.ndarray:
        out = np.full(sizes, value, x.dtype)
        out[place] = x[part]
        return out

    def pad_backward(g: np.ndarray) -> tuple[np.ndarray]:
        gx = np.zeros(shape, g.dtype)
        gx[part] = g[place]
        return (gx,)

    return record(filled(x, value), (input,), pad_backward, forward=filled)


def _shown(input: Tensor, axis: int, source: np.ndarray) -> Tensor:
    """The input with its positions along axis replaced by those in source, of which some come several times."""
    shape = input._array.shape

    def pad_backward(g: np.ndarray) -> np.ndarray:
        gx = np.zeros(shape, g.dtype)
        np.add.at(np.moveaxis(gx, axis, 0), source, np.moveaxis(g, axis, 0))
        return gx

    return linear(input, lambda x: np.take(x, source, axis), pad_backward)


def _source(size: int, before: int, after: int, mode: str) -> np.ndarray:
    """Which of `size` positions is shown at each place, from `before` places ahead of the first."""
    at = np.arange(-before, size + after)
    if mode in ("reflect", "replicate") and not len(at):
        raise RuntimeError(f"input of size {size} is too small for padding ({before}, {after}): nothing is left")
    if mode == "replicate":
        return np.clip(at, 0, size - 1)
    if mode == "reflect":
        if before >= size or after >= size:
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at a dimension of size {size}"
            )
        at = np.abs(at)  # a negative width crops
        return np.where(at >= size, 2 * (size - 1) - at, at)
    if mode == "circular":
        kept = np.arange(size)[max(-before, 0) : size - max(-after, 0)]  # negative widths crop first
        if before + after == -size and max(before, after) <= 0:
            return kept
        if before > size or after > size or not len(kept):
            raise RuntimeError(
                f"Padding value causes wrapping around more than once: ({before}, {after}) at size {size}"
            )
        return kept[np.arange(-max(before, 0), len(kept) + max(after, 0)) % len(kept)]
    raise NotImplementedError(f"Unrecognised padding mode {mode}: use constant, reflect, replicate or circular")
