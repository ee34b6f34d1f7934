"""The two kinds of image as one: a tensor (..., H, W); a picture (H, W) or (H, W, C), an array or a Pillow image."""

from __future__ import annotations

import sys
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
    """Pixels (..., H, W) as an image of the same kind as img: a tensor, an array (H, W) or (H, W, C), or Pillow's."""
    if isinstance(img, Tensor):
        return Tensor(np.ascontiguousarray(planes))
    pixels = np.ascontiguousarray(planes if planes.ndim == 2 else planes.transpose(1, 2, 0))
    return _pillow(img, pixels) if is_pillow(img) else pixels


def is_pillow(img: Any) -> bool:
    pillow = sys.modules.get("PIL.Image")  # whoever has such an image has imported it
    return pillow is not None and isinstance(img, pillow.Image)


def _pillow(img: Any, pixels: np.ndarray) -> Any:
    """The same mode as img (palette and all), unless the number of channels has changed."""
    from PIL import Image

    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    if img.mode == "1" or channels != len(img.getbands()):
        made = Image.fromarray(pixels[..., 0] if pixels.ndim == 3 and channels == 1 else pixels)
        return made.convert("1") if img.mode == "1" and channels == 1 else made
    made = Image.frombytes(img.mode, pixels.shape[1::-1], pixels.tobytes())
    if img.mode == "P":
        made.putpalette(img.getpalette())
    return made
