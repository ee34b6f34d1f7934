"""Resizing: every mode is one matrix per dimension: how much each input pixel adds to each output pixel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mytorch.autograd import linear
from mytorch.tensor import Tensor

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

_RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


def along(input: Tensor, axis: int, matrix: np.ndarray) -> Tensor:
    """input with a matrix (out, size) applied to one of its dims."""

    def applied(x: np.ndarray, m: np.ndarray) -> np.ndarray:
        return np.moveaxis(np.moveaxis(x, axis, -1) @ m.T, -1, axis)

    return linear(input, lambda x: applied(x, matrix), lambda g: applied(g, matrix.T))


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """input (N, C, ...) with one to three more dims to `size` or by `scale_factor`."""
    if input.ndim not in (3, 4, 5):
        raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D)")
    if mode not in ("nearest", "nearest-exact", "area", *_RANKS):
        raise NotImplementedError(
            f"interpolate has no mode {mode!r}: use nearest, nearest-exact, area, linear, bilinear, "
            "bicubic or trilinear"
        )
    if _RANKS.get(mode, input.ndim) != input.ndim:
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {_RANKS[mode]}D input")
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined")
    if mode in ("nearest", "nearest-exact", "area") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if antialias and (mode not in ("bilinear", "bicubic") or input.ndim != 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    full = input.shape[2:]
    factors: list[float | None] = [None] * len(full)
    if scale_factor is not None:
        given = scale_factor if isinstance(scale_factor, (tuple, list)) else [scale_factor] * len(full)
        if len(given) != len(full):
            raise ValueError(f"Input has {len(full)} spatial dims, but scale_factor {scale_factor} has {len(given)}")
        sizes = [math.floor(n * f) for n, f in zip(full, given)]
        if not recompute_scale_factor:
            factors = [float(f) for f in given]
    else:
        wanted = [size] * len(full) if isinstance(size, (int, np.integer)) else list(size)
        if len(wanted) != len(full):
            raise ValueError(f"Input has {len(full)} spatial dims, but size {tuple(wanted)} has {len(wanted)}")
        sizes = [int(n) for n in wanted]
    if min(sizes) <= 0 or min(full) <= 0:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {list(full)} output {sizes}"
        )
    kind, choosing = input._array.dtype, mode in ("nearest", "nearest-exact")
    if kind.kind != "f" and not choosing and (kind != np.uint8 or mode not in ("bilinear", "bicubic")):
        raise NotImplementedError(f"interpolate with mode={mode!r} takes floating-point numbers, but got {input.dtype}")
    out = input
    for axis, (n, o, factor) in reversed(list(enumerate(zip(full, sizes, factors)))):  # rows first, as torch
        matrix = _weights(n, o, factor, mode, bool(align_corners), antialias)
        if kind.kind == "f" or choosing:
            out = along(out, axis + 2, matrix.astype(kind))
        else:
            out = Tensor(_bytes_along(out._array, axis + 2, matrix))
    return out


def _bytes_along(x: np.ndarray, axis: int, matrix: np.ndarray) -> np.ndarray:
    """The same for uint8, to the bit as in torch: weights as 16-bit whole numbers, and a rounding for each dim."""
    digits = min(15 - math.frexp(matrix.max())[1], 22)
    weights = np.floor(np.abs(matrix) * 2.0**digits + 0.5) * np.sign(matrix)
    total = np.moveaxis(x, axis, -1) @ weights.T
    return np.moveaxis(np.clip(np.floor(total / 2.0**digits + 0.5), 0, 255).astype(np.uint8), -1, axis)


def _weights(size: int, out: int, factor: float | None, mode: str, align_corners: bool, antialias: bool) -> np.ndarray:
    """(out, size): how much of each input pixel each output pixel shows."""
    at = np.arange(out)
    matrix = np.zeros((out, size))
    step = size / out if factor is None else 1 / factor
    if mode in ("nearest", "nearest-exact"):
        # torch computes in float32 where a pixel falls
        middle = 0.5 if mode == "nearest-exact" else 0.0
        place = ((at.astype(np.float32) + np.float32(middle)) * np.float32(step)).astype(int)
        matrix[at, np.minimum(place, size - 1)] = 1
        return matrix
    if mode == "area":
        for i in at:
            start, end = i * size // out, -(-(i + 1) * size // out)
            matrix[i, start:end] = 1 / (end - start)
        return matrix
    if align_corners:
        place = at * ((size - 1) / (out - 1) if out > 1 else 0.0)
    else:
        place = (at + 0.5) * step - 0.5
    if antialias:
        return _antialiased(matrix, at, step, align_corners, mode)
    if mode == "bicubic":
        low = np.floor(place).astype(int)
        for k in range(-1, 3):
            np.add.at(matrix, (at, np.clip(low + k, 0, size - 1)), _cubic(np.abs(place - low - k), -0.75))
        return matrix
    place = np.maximum(place, 0)
    low = np.minimum(place.astype(int), size - 1)
    share = place - low
    np.add.at(matrix, (at, low), 1 - share)
    np.add.at(matrix, (at, np.minimum(low + 1, size - 1)), share)
    return matrix


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic kernel."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _antialiased(matrix: np.ndarray, at: np.ndarray, step: float, align_corners: bool, mode: str) -> np.ndarray:
    """When shrinking, the kernel is as wide as the output pixel is in the input."""
    out, size = matrix.shape
    if align_corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    wide = max(step, 1.0)
    reach = (2.0 if mode == "bicubic" else 1.0) * wide
    for i in at:
        centre = step * (i + 0.5)
        start, end = max(int(centre - reach + 0.5), 0), min(int(centre + reach + 0.5), size)
        x = np.abs((np.arange(start, end) - centre + 0.5) / wide)
        weights = _cubic(x, -0.5) if mode == "bicubic" else np.maximum(1 - x, 0)
        matrix[i, start:end] = weights / (weights.sum() or 1)
    return matrix


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)
