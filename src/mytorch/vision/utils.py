"""torchvision.utils: batches of images as one picture, and its file."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from mytorch.absent import Absent
from mytorch.dtypes import unsupported
from mytorch.tensor import Tensor

from .png import png_bytes


def make_grid(
    tensor: Any,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
    **older: Any,
) -> Tensor:
    """(N, C, H, W), or a list of (C, H, W), as one picture (C, H, W): nrow images in a row, `padding` between them."""
    value_range = older.pop("range", value_range)
    if not isinstance(tensor, Tensor) and not (isinstance(tensor, list) and all(isinstance(t, Tensor) for t in tensor)):
        raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
    images = np.stack([t._array for t in tensor]) if isinstance(tensor, list) else tensor._array
    if images.ndim == 2:
        images = images[None]
    if images.ndim == 3:
        images = images[None]
    if images.shape[1] == 1:
        images = np.concatenate([images] * 3, axis=1)
    if normalize:
        images = images.copy()
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError("value_range has to be a tuple (min, max) if specified. min and max are numbers")
        for part in images if scale_each else [images]:
            low, high = value_range or (float(part.min()), float(part.max()))
            np.clip(part, low, high, out=part)
            part -= low
            part /= max(high - low, 1e-5)
    count, channels, height, width = images.shape
    if count == 1:
        return Tensor(images[0].copy())
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    height, width = height + padding, width + padding
    grid = np.full((channels, height * rows + padding, width * columns + padding), pad_value, images.dtype)
    for number, image in enumerate(images):
        top, left = number // columns * height + padding, number % columns * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = image
    return Tensor(grid)


def save_image(tensor: Any, fp: Any, format: str | None = None, **settings: Any) -> None:
    """Writes a grid of images whose values run from 0 to 1; PNG by itself, other formats where Pillow is installed."""
    grid = make_grid(tensor, **settings)._array
    pixels = (grid * 255.0 + 0.5).clip(0, 255).astype(np.uint8).transpose(1, 2, 0)  # (H, W, C)
    is_path = isinstance(fp, (str, os.PathLike))
    kind = format or (Path(fp).suffix.removeprefix(".") if is_path else "png")
    if kind.lower() == "png":
        data = png_bytes(pixels)
        if is_path:
            Path(fp).write_bytes(data)
        else:
            fp.write(data)
        return
    try:
        from PIL import Image
    except ImportError:
        raise ValueError(
            f"save_image writes PNG files, or others with Pillow, which is not installed; got {kind!r}: use .png"
        ) from None
    Image.fromarray(pixels).save(fp, format=format)


_ABSENT = ("draw_bounding_boxes", "draw_keypoints", "draw_segmentation_masks", "flow_to_image")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _ABSENT:
        return Absent(f"torchvision.utils.{name}")
    raise unsupported(f"torchvision.utils.{name}")
