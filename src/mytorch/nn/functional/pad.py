"""Padding of the last dimensions: with a constant, or by reading the image again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mytorch.autograd import record
from mytorch.tensor import Tensor


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """pad is (before, after) of the last dimension, then of the one before it, ...; constant may crop."""
    x = input._array
    amounts = [int(p) for p in pad]
    if len(amounts) % 2 or len(amounts) > 2 * x.ndim:
        raise RuntimeError(
            f"Padding length must be even and at most twice the input's rank {x.ndim}, but got {amounts}"
        )
    if mode != "constant" and value:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    sources = []  # for each dimension, which input index each output index shows (-1: the constant)
    for axis in range(x.ndim):
        k = 2 * (x.ndim - 1 - axis)
        before, after = amounts[k : k + 2] if k < len(amounts) else (0, 0)
        sources.append(_source(x.shape[axis], before, after, mode))
    index = np.ix_(*[np.maximum(s, 0) for s in sources])
    inside = np.ix_(*[np.flatnonzero(s >= 0) for s in sources])
    shown = np.ix_(*[s[s >= 0] for s in sources])
    if mode == "constant":
        out = np.full([len(s) for s in sources], 0 if value is None else value, x.dtype)
        out[inside] = x[shown]
    else:
        out = x[index]
    shape = x.shape

    def pad_backward(g: np.ndarray) -> tuple[np.ndarray]:
        gx = np.zeros(shape, g.dtype)
        if mode == "constant":
            gx[shown] = g[inside]
        else:
            np.add.at(gx, index, g)  # a pixel may be shown several times
        return (gx,)

    return record(out, (input,), pad_backward)


def _source(size: int, before: int, after: int, mode: str) -> np.ndarray:
    at = np.arange(-before, size + after)
    if mode == "constant":
        return np.where((at >= 0) & (at < size), at, -1)
    if mode == "replicate":
        return np.clip(at, 0, size - 1)
    if mode == "reflect":
        if before >= size or after >= size:
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at a dimension of size {size}"
            )
        at = np.abs(at)
        return np.where(at >= size, 2 * (size - 1) - at, at)
    if mode == "circular":
        if before > size or after > size:
            raise RuntimeError(
                f"Padding value causes wrapping around more than once: ({before}, {after}) at size {size}"
            )
        return at % size
    raise NotImplementedError(f"Unrecognised padding mode {mode}: use constant, reflect, replicate or circular")
