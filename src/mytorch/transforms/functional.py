"""torchvision.transforms.functional: an image in, an image out of the same kind.

An image is a tensor (..., H, W), or a picture: an array (H, W) or (H, W, C), or a Pillow image, which is read as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from mytorch.absent import refuse_names
from mytorch.dtypes import to_numpy
from mytorch.tensor import Tensor

from .color import (  # noqa: F401  (they are part of this interface)
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    invert,
    posterize,
    rgb_to_grayscale,
    solarize,
    to_grayscale,
)
from .gradients import moves_pixels, recorded, weighted
from .image import like, planes_of
from .resample import inverse_affine, moved, resize_weights, resized


class InterpolationMode(Enum):
    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


_PILLOW = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}  # Pillow's numbers


def mode_of(interpolation: Any) -> str:
    if isinstance(interpolation, int) and not isinstance(interpolation, bool):
        interpolation = _PILLOW.get(int(interpolation), interpolation)
    name = interpolation.value if isinstance(interpolation, Enum) else interpolation
    name = _PILLOW.get(name, name) if isinstance(name, int) else name
    if name == "hamming" or not isinstance(name, str):
        raise NotImplementedError(f"mytorch has no interpolation {interpolation!r}: use InterpolationMode.BILINEAR")
    return name


def get_dimensions(img: Any) -> list[int]:
    planes = planes_of(img)
    return [1 if planes.ndim == 2 else planes.shape[-3], *planes.shape[-2:]]


def get_image_size(img: Any) -> list[int]:
    """[width, height]"""
    return list(planes_of(img).shape[:-3:-1])


def get_image_num_channels(img: Any) -> int:
    return get_dimensions(img)[0]


# to and from tensors


def to_tensor(pic: Any) -> Tensor:
    """A picture (H, W) or (H, W, C) → a tensor (C, H, W); bytes become float32 in 0…1."""
    if isinstance(pic, Tensor):
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    pixels = np.asarray(pic)
    if pixels.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pixels.ndim} dimensions.")
    planes = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
    if pixels.dtype == np.bool_ and not isinstance(pic, np.ndarray):
        return Tensor(np.ascontiguousarray(planes).astype(np.float32))
    if pixels.dtype == np.uint8:
        return Tensor(np.divide(planes, 255, dtype=np.float32, order="C"))
    return Tensor(np.ascontiguousarray(planes))


def pil_to_tensor(pic: Any) -> Tensor:
    """A picture → a tensor (C, H, W) of the same numbers."""
    pixels = np.asarray(pic)
    return Tensor(np.array(pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1), order="C"))


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """A tensor (C, H, W) or an array (H, W, C) as a Pillow image; floats in 0…1 become bytes."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("to_pil_image needs Pillow, which is not installed: pip install pillow") from None
    pixels = planes_of(pic).transpose(1, 2, 0) if isinstance(pic, Tensor) and pic.ndim == 3 else planes_of_array(pic)
    if isinstance(pic, Tensor) and pixels.dtype.kind == "f" and mode != "F":
        pixels = (pixels * 255).astype(np.uint8)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    made = Image.fromarray(np.ascontiguousarray(pixels))
    return made if mode in (None, made.mode) else made.convert(mode)


def planes_of_array(pic: Any) -> np.ndarray:
    return pic._array if isinstance(pic, Tensor) else np.asarray(pic)


def convert_image_dtype(image: Tensor, dtype: Any = None) -> Tensor:
    """Between bytes in 0…255 and floats in 0…1."""
    kind, old = to_numpy(dtype) if dtype is not None else np.dtype(np.float32), image._array
    if old.dtype.kind == "f" and kind.kind in "iu":
        top = np.iinfo(kind.name).max
        return Tensor((old.astype(np.float64) * (top + 1 - 1e-3)).astype(kind))
    if old.dtype.kind in "iu" and kind.kind == "f":
        return Tensor((old / np.iinfo(old.dtype.name).max).astype(kind))
    return Tensor(old.astype(kind))


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """(x - mean) / std, channel by channel."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}: put ToTensor() before Normalize()")
    if tensor._array.dtype.kind != "f":
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    kind = tensor._array.dtype
    shift, scale = (np.asarray(value, kind).reshape(-1, 1, 1) for value in (mean, std))
    if (scale == 0).any():
        raise ValueError(f"std must not be zero, but got {std}: leave the channel's std at 1")
    if recorded(tensor):
        return tensor.sub_(Tensor(shift)).div_(Tensor(scale)) if inplace else (tensor - Tensor(shift)) / Tensor(scale)
    array = tensor._array if inplace else tensor._array.copy()
    array -= shift
    array /= scale
    if not inplace:
        return Tensor(array)
    tensor._version[0] += 1
    return tensor


# size and place


def resize(
    img: Any,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """To (height, width), or, of one number, so that the shorter side has that length."""
    planes = planes_of(img)
    height, width = planes.shape[-2:]
    if isinstance(size, int) or len(size) == 1:
        short = size if isinstance(size, int) else size[0]
        long = int(short * max(height, width) / min(height, width))
        if max_size is not None and long > max_size:
            short, long = int(max_size * short / long), max_size
        new = (short, long) if height <= width else (long, short)
    else:
        new = tuple(size)
    if new == (height, width):
        return img
    smooth = not isinstance(img, Tensor) or bool(antialias)  # pictures are always filtered, as Pillow does
    mode = mode_of(interpolation)
    if not isinstance(img, Tensor) and mode == "nearest":
        mode = "nearest-exact"  # Pillow's nearest looks at pixel centres
    if recorded(img):
        return weighted(img, *(resize_weights(old, n, mode, smooth) for old, n in zip((height, width), new)))
    return like(img, resized(planes, new[0], new[1], mode, smooth))


@moves_pixels
def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """The part of an image; where it reaches outside, zeros."""
    planes = planes_of(img)
    h, w = planes.shape[-2:]
    part = planes[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    around = [max(-top, 0), max(top + height - h, 0)], [max(-left, 0), max(left + width - w, 0)]
    if any(map(any, around)):
        part = np.pad(part, [(0, 0)] * (planes.ndim - 2) + list(map(tuple, around)))[..., :height, :width]
    return like(img, part)


def center_crop(img: Any, output_size: Any) -> Any:
    height, width = pair(output_size)
    h, w = planes_of(img).shape[-2:]
    if height > h or width > w:
        left, top = max(0, (width - w) // 2), max(0, (height - h) // 2)
        img = pad(img, [left, top, max(0, (width - w + 1) // 2), max(0, (height - h + 1) // 2)])
        h, w = planes_of(img).shape[-2:]
    return crop(img, round((h - height) / 2.0), round((w - width) / 2.0), height, width)


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    return resize(crop(img, top, left, height, width), pair(size), interpolation, antialias=antialias)


_PAD_MODES = {"constant": "constant", "edge": "edge", "reflect": "reflect", "symmetric": "symmetric"}


@moves_pixels
def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """padding is one number, (left and right, top and bottom), or (left, top, right, bottom)."""
    if padding_mode not in _PAD_MODES:
        raise ValueError(f"Padding mode should be either constant, edge, reflect or symmetric, but got {padding_mode}")
    sides = [padding] * 4 if isinstance(padding, int) else list(padding)
    sides = sides * 4 if len(sides) == 1 else sides * 2 if len(sides) == 2 else sides
    left, top, right, bottom = sides
    planes = planes_of(img)
    around = [(0, 0)] * (planes.ndim - 2) + [(top, bottom), (left, right)]
    if padding_mode != "constant":
        return like(img, np.pad(planes, around, padding_mode))  # type: ignore[call-overload]
    if isinstance(fill, (tuple, list)) and planes.ndim > 2:
        parts = [np.pad(plane, around[1:], constant_values=value) for plane, value in zip(planes, fill)]
        return like(img, np.stack(parts))
    value = fill[0] if isinstance(fill, (tuple, list)) else fill
    return like(img, np.pad(planes, around, constant_values=value))


@moves_pixels
def hflip(img: Any) -> Any:
    return like(img, planes_of(img)[..., ::-1])


@moves_pixels
def vflip(img: Any) -> Any:
    return like(img, planes_of(img)[..., ::-1, :])


@moves_pixels
def rotate(
    img: Any,
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Any = None,
) -> Any:
    """Counter-clockwise by `angle` degrees; expand makes room for the corners."""
    planes = planes_of(img)
    h, w = planes.shape[-2:]
    middle = (w / 2, h / 2) if center is None else (float(center[0]), float(center[1]))
    matrix = inverse_affine(-angle, center=middle)
    size = (h, w)
    if expand:
        corners = np.array([[0, w, w, 0], [0, 0, h, h]]) - np.array([[w / 2], [h / 2]])
        reach = np.abs(np.linalg.inv(matrix[:, :2]) @ corners).max(1) - 1e-9  # of the turned corners from the centre
        size = (
            math.ceil(h / 2 + reach[1]) - math.floor(h / 2 - reach[1]),
            math.ceil(w / 2 + reach[0]) - math.floor(w / 2 - reach[0]),
        )
        matrix[:, 2] = np.array([w / 2, h / 2]) - matrix[:, :2] @ np.array([size[1] / 2, size[0] / 2])
    return like(img, moved(planes, matrix, mode_of(interpolation), fill_of(fill), size))


@moves_pixels
def affine(
    img: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Any,
    interpolation: Any = InterpolationMode.NEAREST,
    fill: Any = None,
    center: Sequence[float] | None = None,
) -> Any:
    """Turned clockwise, moved, scaled and sheared, about the centre."""
    planes = planes_of(img)
    h, w = planes.shape[-2:]
    slant = (float(shear), 0.0) if isinstance(shear, (int, float)) else (float(shear[0]), float([*shear, 0.0][1]))
    middle = (w * 0.5, h * 0.5) if center is None else (float(center[0]), float(center[1]))
    matrix = inverse_affine(angle, (float(translate[0]), float(translate[1])), scale, slant, middle)
    return like(img, moved(planes, matrix, mode_of(interpolation), fill_of(fill), (h, w)))


@moves_pixels
def perspective(
    img: Any,
    startpoints: Sequence[Sequence[float]],
    endpoints: Sequence[Sequence[float]],
    interpolation: Any = InterpolationMode.BILINEAR,
    fill: Any = None,
) -> Any:
    """Seen from elsewhere: the four corners at startpoints, (x, y) each, go to endpoints."""
    planes = planes_of(img)
    rows, values = [], []  # eight equations for the map from new to old places; its ninth number is 1
    for (x, y), (u, v) in zip(startpoints, endpoints):
        rows += [[u, v, 1, 0, 0, 0, -x * u, -x * v], [0, 0, 0, u, v, 1, -y * u, -y * v]]
        values += [x, y]
    solved = np.linalg.lstsq(np.array(rows, float), np.array(values, float), rcond=None)[0]
    matrix = np.append(solved.astype(np.float32), 1.0).astype(float).reshape(3, 3)
    size = (planes.shape[-2], planes.shape[-1])
    return like(img, moved(planes, matrix, mode_of(interpolation), fill_of(fill), size))


def fill_of(fill: Any) -> float:
    return 0.0 if fill is None else float(fill[0] if isinstance(fill, (list, tuple)) else fill)


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Tensor:
    if recorded(img):
        out = img if inplace else img.clone()
        out[..., i : i + h, j : j + w] = v
        return out
    out = img if inplace else Tensor(img._array.copy())
    out._array[..., i : i + h, j : j + w] = v._array if isinstance(v, Tensor) else v
    out._version[0] += 1
    return out


def five_crop(img: Any, size: Any) -> tuple:
    height, width = pair(size)
    h, w = planes_of(img).shape[-2:]
    corners = ((0, 0), (0, w - width), (h - height, 0), (h - height, w - width))
    return (*(crop(img, top, left, height, width) for top, left in corners), center_crop(img, size))


def ten_crop(img: Any, size: Any, vertical_flip: bool = False) -> tuple:
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)


def gaussian_blur(img: Any, kernel_size: Any, sigma: Any = None) -> Any:
    """kernel_size and sigma are one number, or (along x, along y)."""
    planes = planes_of(img)
    sizes = pair(kernel_size)
    spreads = pair(sigma) if sigma is not None else tuple(0.3 * ((k - 1) * 0.5 - 1) + 0.8 for k in sizes)
    if recorded(img):  # what a blur along one axis makes of single bright pixels are its weights
        rows, columns = (
            gaussian_blur(Tensor(np.eye(n)), (1, k), (1.0, spread))._array
            for n, k, spread in zip(planes.shape[-2:], sizes[::-1], spreads[::-1])
        )
        return weighted(img, rows, columns)
    out = planes.astype(np.float64)
    for axis, length, spread in ((-1, sizes[0], spreads[0]), (-2, sizes[1], spreads[1])):
        if length % 2 == 0 or length <= 0:
            raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel_size}")
        half = length // 2
        weights = np.exp(-0.5 * (np.arange(-half, half + 1) / spread) ** 2)
        around = [(0, 0)] * out.ndim
        around[axis] = (half, half)
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(out, around, "reflect"), length, axis)
        out = windows @ (weights / weights.sum())
    kind = planes.dtype
    return like(img, np.round(out).clip(0, 255).astype(kind) if kind.kind in "iu" else out.astype(kind))


def pair(size: Any) -> tuple:
    if isinstance(size, (int, float)):
        return size, size
    return (size[0], size[0]) if len(size) == 1 else tuple(size)


__getattr__ = refuse_names("torchvision.transforms.functional")
