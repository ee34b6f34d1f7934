"""The two kinds of image as one: a tensor (..., H, W); a picture (H, W) or (H, W, C), an array or a Pillow image."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.tensor import Tensor


def planes_of(img: Any) -> np.ndarray:
    """The pixels as (..., H, W)."""
    if isinstance(img, Tensor):
        return img._array
    pixels = np.asarray(img)
    if pixels.dtype == np.bool_:  # a picture of one bit per pixel
        pixels = pixels.astype(np.uint8) * np.uint8(255)
    if pixels.ndim not in (2, 3):
        raise ValueError(f"an image has 2 or 3 dimensions, but this one has {pixels.ndim}: {pixels.shape}")
    return pixels if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def like(img: Any, planes: np.ndarray) -> Any:
    """Pixels (..., H, W) as an image of the same kind as img; a picture becomes an array (H, W) or (H, W, C)."""
    if isinstance(img, Tensor):
        return Tensor(np.ascontiguousarray(planes))
    return np.ascontiguousarray(planes if planes.ndim == 2 else planes.transpose(1, 2, 0))
