"""Changing colours: brightness, contrast, saturation, hue, grey, inverted. Bytes run from 0 to 255, floats 0 to 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.tensor import Tensor

from .gradients import blend, gray, recorded, refuse
from .image import like, planes_of


def _top(planes: np.ndarray) -> float:
    return 1.0 if planes.dtype.kind == "f" else 255.0


def _blend(img: Any, other: Any, share: float) -> Any:
    """share · img + (1 - share) · other, within the range of the type."""
    planes = planes_of(img)
    mixed = share * planes.astype(np.float64) + (1 - share) * other
    mixed = mixed.clip(0, _top(planes))
    return like(img, mixed.astype(planes.dtype))


def _gray(planes: np.ndarray) -> np.ndarray:
    """(..., 3, H, W) → (..., 1, H, W) by the eye's weights."""
    if planes.shape[-3] == 1:
        return planes.astype(np.float64)
    red, green, blue = (planes[..., channel, :, :].astype(np.float64) for channel in range(3))
    return (0.2989 * red + 0.587 * green + 0.114 * blue)[..., None, :, :]


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    if recorded(img):
        return gray(img).expand(*img.shape[:-3], num_output_channels, *img.shape[-2:])
    planes = planes_of(img)
    if planes.ndim == 2:
        planes = planes[None]
    if isinstance(img, Tensor):
        grays = _gray(planes).astype(planes.dtype)
    else:  # Pillow's rounding, in whole numbers
        parts = planes.astype(np.int64)
        whole = (parts[0] * 19595 + parts[1] * 38470 + parts[2] * 7471 + 0x8000) >> 16 if len(parts) >= 3 else parts[0]
        grays = whole.astype(planes.dtype)[None]
    if num_output_channels == 3:
        return like(img, np.repeat(grays, 3, axis=-3))
    return like(img, grays if isinstance(img, Tensor) else grays[0])


to_grayscale = rgb_to_grayscale


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    return blend(img, 0.0, brightness_factor) if recorded(img) else _blend(img, 0.0, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    if recorded(img):
        return blend(img, gray(img).mean((-3, -2, -1), keepdim=True), contrast_factor)
    planes = planes_of(img)
    grays = planes.astype(np.float64) if planes.ndim == 2 else _gray(planes)
    grays = np.floor(grays) if planes.dtype.kind in "iu" else grays
    mean = grays.mean(axis=(-3, -2, -1) if planes.ndim > 2 else None, keepdims=planes.ndim > 2)
    if not isinstance(img, Tensor):
        mean = np.floor(mean + 0.5)  # Pillow's is a whole number
    return _blend(img, mean, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    planes = planes_of(img)
    if planes.ndim == 2 or planes.shape[-3] == 1:
        return img
    if recorded(img):
        return blend(img, gray(img), saturation_factor)
    grays = _gray(planes)
    return _blend(img, np.floor(grays) if planes.dtype.kind in "iu" else grays, saturation_factor)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    if recorded(img):
        return (gain * img**gamma).clamp(0, 1)
    planes = planes_of(img)
    top = _top(planes)
    bright = (gain * (planes.astype(np.float64) / top) ** gamma).clip(0, 1) * top
    return like(img, bright.astype(planes.dtype))


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Turns the colour circle by hue_factor, between -0.5 and 0.5."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    planes = planes_of(img)
    if planes.ndim == 2 or planes.shape[-3] == 1:
        return img
    if recorded(img):
        return refuse("adjust_hue")
    top = _top(planes)
    rgb = np.moveaxis(planes, -3, 0).astype(np.float64) / top  # (3, ..., H, W)
    high, low = rgb.max(0), rgb.min(0)
    spread = np.where(high == low, 1.0, high - low)
    to_red, to_green, to_blue = (high - rgb) / spread
    red, green, _blue = rgb
    hue = np.where(
        high == red, to_blue - to_green, np.where(high == green, 2 + to_red - to_blue, 4 + to_green - to_red)
    )
    hue = np.where(high == low, 0.0, (hue / 6 + hue_factor) % 1.0)
    saturation = np.where(high == 0, 0.0, (high - low) / np.where(high == 0, 1.0, high))
    part, step = np.modf(hue * 6)
    p, q, t = high * (1 - saturation), high * (1 - saturation * part), high * (1 - saturation * (1 - part))
    sector = step.astype(int) % 6
    turned = np.stack(
        [
            np.choose(sector, (high, q, p, p, t, high)),
            np.choose(sector, (t, high, high, q, p, p)),
            np.choose(sector, (p, p, t, high, high, q)),
        ],
        axis=-3,
    )
    scaled = turned * top if planes.dtype.kind == "f" else np.round(turned * top)
    return like(img, scaled.clip(0, top).astype(planes.dtype))


def invert(img: Any) -> Any:
    if recorded(img):
        return 1 - img
    planes = planes_of(img)
    return like(img, (np.asarray(_top(planes), planes.dtype) - planes).astype(planes.dtype))


def posterize(img: Any, bits: int) -> Any:
    planes = planes_of(img)
    return like(img, planes & np.uint8(256 - (1 << (8 - bits)))) if bits < 8 else img


def solarize(img: Any, threshold: float) -> Any:
    if recorded(img):
        return img.where(img < threshold, 1 - img)
    planes = planes_of(img)
    return like(img, np.where(planes >= threshold, planes_of(invert(img)), planes))


def autocontrast(img: Any) -> Any:
    """Stretches every channel to the whole range."""
    if recorded(img):
        return refuse("autocontrast")
    planes = planes_of(img)
    top = _top(planes)
    low = planes.min(axis=(-2, -1), keepdims=True).astype(np.float64)
    high = planes.max(axis=(-2, -1), keepdims=True).astype(np.float64)
    flat = high == low
    scaled = np.where(flat, planes, (planes - low) * (top / np.where(flat, 1.0, high - low)))
    return like(img, scaled.clip(0, top).astype(planes.dtype))
