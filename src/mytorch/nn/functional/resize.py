"""Resizing images: nearest and bilinear are both a matrix for the rows and one for the columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mytorch.autograd import record
from mytorch.tensor import Tensor

from .layout import Pair, pair


def interpolate(
    input: Tensor,
    size: int | Pair | None = None,
    scale_factor: float | tuple[float, float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """input (N, C, H, W) to `size` or by `scale_factor`."""
    if mode not in ("nearest", "bilinear") or antialias or recompute_scale_factor or input.ndim != 4:
        raise NotImplementedError(
            "mytorch's interpolate does nearest and bilinear on 4-D input without antialias, "
            f"not {mode} on {input.ndim}-D"
        )
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined")
    if mode == "nearest" and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | ...")
    x = input._array
    factors: Sequence[float | None] = (None, None)
    if scale_factor is not None:
        factors = scale_factor if isinstance(scale_factor, tuple | list) else (scale_factor, scale_factor)
        size = (int(x.shape[2] * factors[0]), int(x.shape[3] * factors[1]))
    assert size is not None
    down, across = (
        _weights(n, out, factor, mode, bool(align_corners)).astype(x.dtype)
        for n, out, factor in zip(x.shape[2:], pair(size), factors)
    )
    out = down @ x @ across.T  # (Ho, H) (N, C, H, W) (W, Wo)
    return record(out, (input,), lambda g: (down.T @ g @ across,))


def _weights(size: int, out: int, factor: float | None, mode: str, align_corners: bool) -> np.ndarray:
    """(out, size): how much of each input pixel each output pixel shows."""
    at = np.arange(out)
    matrix = np.zeros((out, size))
    step = size / out if factor is None else 1 / factor
    if mode == "nearest":
        matrix[at, np.minimum((at * step).astype(int), size - 1)] = 1
        return matrix
    if align_corners:
        place = at * ((size - 1) / (out - 1) if out > 1 else 0.0)
    else:
        place = np.maximum((at + 0.5) * step - 0.5, 0)
    low = np.minimum(place.astype(int), size - 1)
    share = place - low
    np.add.at(matrix, (at, low), 1 - share)
    np.add.at(matrix, (at, np.minimum(low + 1, size - 1)), share)
    return matrix
