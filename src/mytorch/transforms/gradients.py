"""Transforms of a tensor that needs a gradient, in operations that are recorded.

Pictures have no gradients, and the transforms in functional.py and color.py work on plain arrays. But a transform may
also lie inside a network: on the images of a generator, or on an input whose own gradient is asked for.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from mytorch.dtypes import unsupported
from mytorch.gradmode import is_grad_enabled
from mytorch.tensor import Tensor


def recorded(img: Any) -> bool:
    """Whether the result of a transform must be differentiable."""
    return isinstance(img, Tensor) and img.requires_grad and is_grad_enabled()


def moves_pixels(transform: Callable) -> Callable:
    """For a transform that only moves pixels: it is applied to the pixels' indices, where 0 stands for outside."""
    signature = inspect.signature(transform)

    @functools.wraps(transform)
    def either(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        img: Any = given.arguments.get("img")
        if not recorded(img):
            return transform(*args, **kwargs)
        mode = given.arguments.get("interpolation", "nearest")
        if getattr(mode, "value", mode) not in ("nearest", 0):
            return refuse(f"{transform.__name__} with interpolation={mode}")
        outside = given.arguments.pop("fill", None) or 0.0
        height, width = img.shape[-2:]
        given.arguments["img"] = Tensor(np.arange(1, height * width + 1).reshape(height, width))
        places = transform(*given.args, **given.kwargs)._array
        pixels = img.reshape(*img.shape[:-2], height * width)[..., Tensor(np.maximum(places, 1) - 1)]
        edge = Tensor(np.asarray(outside, img._array.dtype))
        return pixels if places.all() else pixels.where(Tensor(places > 0), edge)

    return either


def weighted(img: Tensor, rows: np.ndarray, columns: np.ndarray) -> Tensor:
    """Every new pixel a weighted sum of old ones: rows (h, H) and columns (w, W) hold the weights."""
    kind = img._array.dtype
    return Tensor(rows.astype(kind)) @ img @ Tensor(columns.T.astype(kind))


def blend(img: Tensor, other: Any, share: float) -> Tensor:
    """share · img + (1 - share) · other, within 0…1."""
    return (share * img + (1 - share) * other).clamp(0, 1)


def gray(img: Tensor) -> Tensor:
    """(..., 3, H, W) → (..., 1, H, W) by the eye's weights."""
    if img.shape[-3] == 1:
        return img
    weights = Tensor(np.array([0.2989, 0.587, 0.114], img._array.dtype).reshape(3, 1, 1))
    return (img * weights).sum(-3, keepdim=True)


def refuse(name: str) -> Any:
    raise unsupported(f"torchvision.transforms.functional.{name} of a tensor that needs a gradient")
