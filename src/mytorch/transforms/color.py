"""Changing colours: brightness, contrast, saturation, hue, grey, inverted. Bytes run from 0 to 255, floats 0 to 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.tensor import Tensor

from .gradients import blend, gray, recorded, refuse
from .image import like, planes_of


def _top(planes: np.ndarray) -> float:
    return 1.0 if planes.dtype.kind == "f" else 255.0


def _working(planes: np.ndarray) -> np.dtype:
    """The type to compute in: torch and Pillow compute bytes in float32, so that the last digit rounds as theirs."""
    return planes.dtype if planes.dtype.kind == "f" else np.dtype(np.float32)


def _blend(img: Any, other: Any, share: float) -> Any:
    """share · img + (1 - share) · other, within the range of the type; bytes are cut off, not rounded."""
    planes = planes_of(img)
    kind = _working(planes)
    exact, other = planes.astype(kind), np.asarray(other, kind)
    if isinstance(img, Tensor):
        mixed = exact * kind.type(share) + other * kind.type(1 - share)
    else:  # Pillow goes from one to the other
        mixed = other + kind.type(share) * (exact - other)
    return like(img, mixed.clip(0, _top(planes)).astype(planes.dtype))


def _gray(planes: np.ndarray) -> np.ndarray:
    """(..., 3, H, W) → (..., 1, H, W) by the eye's weights."""
    exact = planes.astype(_working(planes))
    if planes.shape[-3] == 1:
        return exact
    red, green, blue = (exact[..., channel, :, :] for channel in range(3))
    grays = (0.2989 * red + 0.587 * green + 0.114 * blue)[..., None, :, :]
    return np.floor(grays) if planes.dtype.kind in "iu" else grays


def _pillow_gray(planes: np.ndarray) -> np.ndarray:
    """(3, H, W) → (1, H, W) in whole numbers, as Pillow rounds."""
    parts = planes.astype(np.int64)
    whole = (parts[0] * 19595 + parts[1] * 38470 + parts[2] * 7471 + 0x8000) >> 16 if len(parts) >= 3 else parts[0]
    return whole.astype(planes.dtype)[None]


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    if recorded(img):
        return gray(img).expand(*img.shape[:-3], num_output_channels, *img.shape[-2:])
    planes = planes_of(img)
    if planes.ndim == 2:
        planes = planes[None]
    grays = _gray(planes).astype(planes.dtype) if isinstance(img, Tensor) else _pillow_gray(planes)
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
    if isinstance(img, Tensor):
        grays = _gray(planes)
        return _blend(img, grays.mean(axis=(-3, -2, -1), keepdims=True, dtype=grays.dtype), contrast_factor)
    grays = planes if planes.ndim == 2 else _pillow_gray(planes)
    return _blend(img, np.floor(grays.mean() + 0.5), contrast_factor)  # Pillow's mean is a whole number


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    planes = planes_of(img)
    if planes.ndim == 2 or planes.shape[-3] == 1:
        return img
    if recorded(img):
        return blend(img, gray(img), saturation_factor)
    return _blend(img, _gray(planes) if isinstance(img, Tensor) else _pillow_gray(planes), saturation_factor)


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """0 is blurred, 1 the image, 2 sharpened."""
    if recorded(img):
        return refuse("adjust_sharpness")
    planes = planes_of(img)
    if min(planes.shape[-2:]) <= 2:
        return img
    kind = _working(planes)
    windows = np.lib.stride_tricks.sliding_window_view(planes.astype(kind), (3, 3), (-2, -1))
    weights = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], kind) / kind.type(13)
    smooth = (windows * weights).sum((-2, -1))
    blurred = planes.astype(kind)  # the border stays
    blurred[..., 1:-1, 1:-1] = smooth if planes.dtype.kind == "f" else np.floor(smooth + kind.type(0.5))
    return _blend(img, blurred, sharpness_factor)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    if recorded(img):
        return (gain * img**gamma).clamp(0, 1)
    planes = planes_of(img)
    top = _top(planes)
    exact = planes.astype(_working(planes) if isinstance(img, Tensor) else np.float64)
    bright = (gain * (exact / top) ** gamma).clip(0, 1)
    return like(img, (bright if top == 1 else bright * (256 - 1e-3)).astype(planes.dtype))


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Turns the colour circle by hue_factor, between -0.5 and 0.5."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    planes = planes_of(img)
    if planes.ndim == 2 or planes.shape[-3] == 1:
        return img
    if recorded(img):
        return refuse("adjust_hue")
    if not isinstance(img, Tensor) and planes.dtype == np.uint8:
        return like(img, _hue_in_bytes(planes, hue_factor))
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
    turned = _to_rgb(hue * 6, saturation, high)
    scaled = turned * top if planes.dtype.kind == "f" else np.round(turned * top)
    return like(img, scaled.clip(0, top).astype(planes.dtype))


def _to_rgb(sixths: np.ndarray, saturation: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Hue in sixths of the circle, saturation in 0…1 and the largest channel → (..., 3, H, W)."""
    part, step = np.modf(sixths)
    p, q, t = high * (1 - saturation), high * (1 - saturation * part), high * (1 - saturation * (1 - part))
    sector = step.astype(int) % 6
    channels = ((high, q, p, p, t, high), (t, high, high, q, p, p), (p, p, t, high, high, q))
    return np.stack([np.choose(sector, channel) for channel in channels], axis=-3)


def _hue_in_bytes(planes: np.ndarray, hue_factor: float) -> np.ndarray:
    """As Pillow turns a picture's hue: hue and saturation are kept in one byte each on the way, the rest cut off."""
    red, green, blue = planes[:3].astype(np.float32)
    high, low = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
    spread = np.where(high == low, np.float32(1), high - low)
    to_red, to_green, to_blue = ((high - channel) / spread for channel in (red, green, blue))
    sixths = np.where(
        red == high,
        to_blue - to_green,
        np.where(green == high, 2.0 + to_red.astype(float) - to_blue, 4.0 + to_green.astype(float) - to_red),
    ).astype(np.float32)
    around = np.fmod(sixths.astype(float) / 6.0 + 1.0, 1.0).astype(np.float32)
    hue = np.where(high == low, 0, around.astype(float) * 255.0).astype(np.uint8)
    share = (spread / np.maximum(high, np.float32(1))).astype(float)
    saturation = np.where(high == low, 0, share * 255.0).astype(np.uint8)
    hue = hue + np.int64(hue_factor * 255).astype(np.uint8)  # around the circle
    turned = _to_rgb(hue * 6.0 / 255.0, (saturation / 255.0).astype(np.float32), high)
    return np.concatenate([np.floor(turned + 0.5).clip(0, 255).astype(np.uint8), planes[3:]])


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


def equalize(img: Any) -> Any:
    """Moves the brightness of bytes so that every channel has about as much of each."""
    planes = planes_of(img)
    if planes.dtype != np.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {planes.dtype}")
    flat = planes.reshape(-1, planes.shape[-2] * planes.shape[-1])
    return like(img, np.stack([_equalized(channel) for channel in flat]).reshape(planes.shape))


def _equalized(channel: np.ndarray) -> np.ndarray:
    counts = np.bincount(channel, minlength=256)
    step = (channel.size - counts[counts > 0][-1]) // 255
    if step == 0:
        return channel
    below = np.cumsum(counts) - counts
    return ((below + step // 2) // step).clip(0, 255).astype(np.uint8)[channel]
