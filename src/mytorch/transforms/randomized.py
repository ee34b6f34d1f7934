"""Transforms that draw their amounts anew for every image, from mytorch's random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mytorch.nn.modules.module import Module
from mytorch.random import numpy_generator
from mytorch.tensor import Tensor

from . import functional as F
from .chance import between, chance
from .functional import InterpolationMode


class RandomCrop(Module):
    """A random part of the given size, of the image with `padding` around it."""

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ):
        super().__init__()
        self.size, self.padding, self.pad_if_needed = F.pair(size), padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode

    def forward(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        height, width = self.size
        h, w = F.planes_of(img).shape[-2:]
        if self.pad_if_needed and (h < height or w < width):
            img = F.pad(img, [max(width - w, 0), max(height - h, 0)], self.fill, self.padding_mode)
            h, w = F.planes_of(img).shape[-2:]
        if h < height or w < width:
            raise ValueError(f"Required crop size {self.size} is larger than input image size {(h, w)}: give padding")
        return F.crop(img, *self.get_params(img, self.size))

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """(top, left, height, width) of a random part; to cut the same one out of several images."""
        (h, w), (height, width) = F.planes_of(img).shape[-2:], output_size
        if h < height or w < width:
            raise ValueError(f"Required crop size {output_size} is larger than input image size {(h, w)}")
        top, left = numpy_generator().integers(0, (h - height + 1, w - width + 1))
        return int(top), int(left), height, width

    def __repr__(self) -> str:
        return f"RandomCrop(size={self.size}, padding={self.padding})"


class RandomResizedCrop(Module):
    """A part of random area and shape, resized to the given size."""

    def __init__(
        self,
        size: Any,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ):
        super().__init__()
        self.size, self.scale, self.ratio = F.pair(size), scale, ratio
        self.interpolation, self.antialias = interpolation, antialias

    def forward(self, img: Any) -> Any:
        h, w = F.planes_of(img).shape[-2:]
        for _ in range(10):
            area = h * w * between(*self.scale)
            shape = math.exp(between(math.log(self.ratio[0]), math.log(self.ratio[1])))
            width, height = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < width <= w and 0 < height <= h:
                top, left = numpy_generator().integers(0, (h - height + 1, w - width + 1))
                break
        else:  # no such part fits: the largest from the middle
            width, height = min(w, round(h * max(self.ratio))), min(h, round(w / min(self.ratio)))
            top, left = (h - height) // 2, (w - width) // 2
        part = (int(top), int(left), height, width)
        return F.resized_crop(img, *part, self.size, self.interpolation, self.antialias)

    def __repr__(self) -> str:
        scale, ratio = (tuple(round(each, 4) for each in limits) for limits in (self.scale, self.ratio))
        how = F.mode_of(self.interpolation)
        return (
            f"RandomResizedCrop(size={self.size}, scale={scale}, ratio={ratio}, interpolation={how}, "
            f"antialias={self.antialias})"
        )


def _either_way(limit: Any) -> list[float]:
    return [-float(limit), float(limit)] if isinstance(limit, (int, float)) else [float(each) for each in limit]


class RandomRotation(Module):
    """Turned by up to `degrees` either way, or by (lowest, highest)."""

    def __init__(
        self,
        degrees: Any,
        interpolation: Any = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Any = None,
        fill: Any = 0,
    ):
        super().__init__()
        self.degrees = _either_way(degrees)
        self.interpolation, self.expand, self.center, self.fill = interpolation, expand, center, fill

    def forward(self, img: Any) -> Any:
        angle = between(*self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)

    def __repr__(self) -> str:
        center = "" if self.center is None else f", center={self.center}"
        how = F.mode_of(self.interpolation)
        return (
            f"RandomRotation(degrees={self.degrees}, interpolation={how}, expand={self.expand}{center}, "
            f"fill={self.fill})"
        )


class RandomAffine(Module):
    def __init__(
        self,
        degrees: Any,
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: Any = None,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = 0,
        center: Any = None,
    ):
        super().__init__()
        self.degrees = _either_way(degrees)
        self.translate, self.scale = translate, scale
        self.shear = None if shear is None else _either_way(shear)
        self.interpolation, self.fill, self.center = interpolation, fill, center

    def forward(self, img: Any) -> Any:
        h, w = F.planes_of(img).shape[-2:]
        angle = between(*self.degrees)
        reach = (0.0, 0.0) if self.translate is None else (self.translate[0] * w, self.translate[1] * h)
        shift = [round(between(-each, each)) for each in reach]
        scale = 1.0 if self.scale is None else between(*self.scale)
        slant = [0.0, 0.0]
        if self.shear is not None:
            slant = [between(self.shear[0], self.shear[1]), between(*self.shear[2:4]) if self.shear[2:] else 0.0]
        return F.affine(img, angle, shift, scale, slant, self.interpolation, self.fill, self.center)

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in ("translate", "scale", "shear")}
        if self.interpolation != InterpolationMode.NEAREST:
            shown["interpolation"] = F.mode_of(self.interpolation)
        shown |= {"fill": self.fill or None, "center": self.center}
        parts = "".join(f", {name}={value}" for name, value in shown.items() if value is not None)
        return f"RandomAffine(degrees={self.degrees}{parts})"


class ColorJitter(Module):
    """Brightness, contrast, saturation and hue changed by random amounts, in random order."""

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0):
        super().__init__()
        self.brightness, self.contrast = self._range(brightness, 1), self._range(contrast, 1)
        self.saturation, self.hue = self._range(saturation, 1), self._range(hue, 0)

    @staticmethod
    def _range(value: Any, middle: float) -> tuple[float, float] | None:
        if isinstance(value, (int, float)):
            low = float(middle - value)
            return None if value == 0 else (max(low, 0.0) if middle == 1 else low, float(middle + value))
        return float(value[0]), float(value[1])

    def forward(self, img: Any) -> Any:
        changes = (
            (F.adjust_brightness, self.brightness),
            (F.adjust_contrast, self.contrast),
            (F.adjust_saturation, self.saturation),
            (F.adjust_hue, self.hue),
        )
        for place in numpy_generator().permutation(len(changes)):
            change, limits = changes[place]
            if limits is not None:
                img = change(img, between(*limits))
        return img

    def __repr__(self) -> str:
        parts = (f"{name}={getattr(self, name)}" for name in ("brightness", "contrast", "saturation", "hue"))
        return f"ColorJitter({', '.join(parts)})"


class GaussianBlur(Module):
    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)):
        super().__init__()
        self.kernel_size = F.pair(kernel_size)
        self.sigma = (sigma, sigma) if isinstance(sigma, (int, float)) else tuple(sigma)

    def forward(self, img: Any) -> Any:
        return F.gaussian_blur(img, self.kernel_size, between(*self.sigma))

    def __repr__(self) -> str:
        return f"GaussianBlur(kernel_size={self.kernel_size}, sigma={self.sigma})"


class RandomErasing(Module):
    """A random rectangle of a tensor overwritten by a value, or by noise (value='random')."""

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
    ):
        super().__init__()
        self.p, self.scale, self.ratio, self.value, self.inplace = p, scale, ratio, value, inplace

    def forward(self, img: Tensor) -> Tensor:
        if not chance(self.p):
            return img
        h, w = img._array.shape[-2:]
        for _ in range(10):
            area = h * w * between(*self.scale)
            shape = math.exp(between(math.log(self.ratio[0]), math.log(self.ratio[1])))
            height, width = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if height < h and width < w:
                top, left = (int(n) for n in numpy_generator().integers(0, (h - height + 1, w - width + 1)))
                value = self.value
                if value == "random":
                    value = numpy_generator().standard_normal((*img._array.shape[:-2], height, width))
                return F.erase(img, top, left, height, width, value, self.inplace)
        return img

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in ("p", "scale", "ratio", "value", "inplace"))
        return f"RandomErasing({shown})"
