"""New pixels from old ones: resizing by a matrix of filter weights, and moving by an inverse affine map."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def _box(x: np.ndarray) -> np.ndarray:
    return ((x > -0.5) & (x <= 0.5)).astype(float)


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, 1.0 - np.abs(x))


def _cubic(x: np.ndarray, a: float = -0.5) -> np.ndarray:
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def _lanczos(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0.0)


# name → (filter, how far it reaches)
FILTERS: dict[str, tuple[Callable, float]] = {
    "box": (_box, 0.5),
    "bilinear": (_triangle, 1.0),
    "bicubic": (_cubic, 2.0),
    "lanczos": (_lanczos, 3.0),
}


def resize_weights(length: int, wanted: int, mode: str, antialias: bool = True) -> np.ndarray:
    """(wanted, length): row i holds what each old pixel gives to new pixel i.

    When an image shrinks, the filter is widened by the same factor, so that every old pixel counts (antialias).
    """
    weights = np.zeros((wanted, length))
    ratio = length / wanted
    if mode == "nearest":
        weights[np.arange(wanted), np.minimum((np.arange(wanted) * ratio).astype(int), length - 1)] = 1
        return weights
    if mode == "nearest-exact":
        # pixel centres, by steps added up as Pillow does: where a centre falls between two pixels, the rounding decides
        centres = np.cumsum([0.5 * ratio, *[ratio] * (wanted - 1)])
        weights[np.arange(wanted), np.minimum(centres.astype(int), length - 1)] = 1
        return weights
    kernel, reach = FILTERS[mode]
    stretch = max(ratio, 1.0) if antialias else 1.0
    for i in range(wanted):
        center = (i + 0.5) * ratio
        first = max(int(center - reach * stretch + 0.5), 0)
        last = min(int(center + reach * stretch + 0.5), length)
        share = kernel((np.arange(first, last) - center + 0.5) / stretch)
        weights[i, first:last] = share / share.sum()
    return weights


def resized(planes: np.ndarray, height: int, width: int, mode: str, antialias: bool = True) -> np.ndarray:
    """(..., H, W) → (..., height, width), rows first and then columns; bytes are rounded after each, as Pillow does."""
    out = planes
    for axis, wanted in ((-1, width), (-2, height)):
        length = out.shape[axis]
        if length == wanted:
            continue
        weights = resize_weights(length, wanted, mode, antialias)
        if mode.startswith("nearest"):
            out = np.take(out, weights.argmax(1), axis)
            continue
        exact = out.astype(np.float64)
        exact = exact @ weights.T if axis == -1 else weights @ exact
        out = _as_type(exact, planes.dtype)
    return out


def _as_type(values: np.ndarray, kind: np.dtype) -> np.ndarray:
    if kind.kind in "iu":
        info = np.iinfo(kind)
        values = np.clip(np.floor(values + 0.5), info.min, info.max)
    return values.astype(kind)


def moved(planes: np.ndarray, matrix: np.ndarray, mode: str, fill: float, size: tuple[int, int]) -> np.ndarray:
    """New pixel (x, y) takes the old one at matrix · (x + ½, y + ½, 1); outside the image lies `fill`.

    A third row of the matrix is a perspective: what it gives divides the place.
    """
    height, width = planes.shape[-2:]
    y, x = np.mgrid[: size[0], : size[1]] + 0.5
    old_x = matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2]
    old_y = matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2]
    if len(matrix) == 3:
        away = matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2]
        old_x, old_y = old_x / away, old_y / away
    if mode == "nearest":
        column, row = np.floor(old_x).astype(int), np.floor(old_y).astype(int)
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        colours = planes[..., row.clip(0, height - 1), column.clip(0, width - 1)]
        return np.where(inside, colours, np.asarray(fill, planes.dtype)).astype(planes.dtype)
    inside = (old_x >= 0) & (old_x < width) & (old_y >= 0) & (old_y < height)
    left, top = np.floor(old_x - 0.5).astype(int), np.floor(old_y - 0.5).astype(int)
    dx, dy = old_x - 0.5 - left, old_y - 0.5 - top
    total = np.zeros(planes.shape[:-2] + size)
    for down, share_y in ((0, 1 - dy), (1, dy)):
        for right, share_x in ((0, 1 - dx), (1, dx)):
            row, column = (top + down).clip(0, height - 1), (left + right).clip(0, width - 1)
            total += planes[..., row, column] * (share_y * share_x)
    return _as_type(np.where(inside, total, fill), planes.dtype)


def inverse_affine(
    angle: float,
    translate: tuple[float, float] = (0, 0),
    scale: float = 1.0,
    shear: tuple[float, float] = (0, 0),
    center: tuple[float, float] = (0, 0),
) -> np.ndarray:
    """The map from new to old positions of: shear, scale, turn clockwise by `angle` degrees about `center`, move."""
    turn, shear_x, shear_y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(turn - shear_y) / math.cos(shear_y)
    b = -math.cos(turn - shear_y) * math.tan(shear_x) / math.cos(shear_y) - math.sin(turn)
    c = math.sin(turn - shear_y) / math.cos(shear_y)
    d = -math.sin(turn - shear_y) * math.tan(shear_x) / math.cos(shear_y) + math.cos(turn)
    forward = scale * np.array([[a, b], [c, d]])
    back = np.linalg.inv(forward)
    middle = np.asarray(center, float)
    offset = middle - back @ (middle + np.asarray(translate, float))
    return np.concatenate([back, offset[:, None]], axis=1)
