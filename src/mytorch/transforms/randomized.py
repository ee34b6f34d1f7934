"""Transforms that draw anew for every image, from mytorch's random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from mytorch.nn.modules.module import Module
from mytorch.random import numpy_generator
from mytorch.tensor import Tensor

from . import functional as F
from .functional import InterpolationMode


def _chance(p: float) -> bool:
    return bool(numpy_generator().random() < p)


def _between(low: float, high: float) -> float:
    return float(numpy_generator().uniform(low, high))


class _Maybe(Module):
    """Changes the image with probability p."""

    def __init__(self, p: float = 0.5):
        super().__init__()
        self.p = p

    def change(self, img: Any) -> Any:
        raise NotImplementedError

    def forward(self, img: Any) -> Any:
        return self.change(img) if _chance(self.p) else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomHorizontalFlip(_Maybe):
    def change(self, img: Any) -> Any:
        return F.hflip(img)


class RandomVerticalFlip(_Maybe):
    def change(self, img: Any) -> Any:
        return F.vflip(img)


class RandomInvert(_Maybe):
    def change(self, img: Any) -> Any:
        return F.invert(img)


class RandomGrayscale(_Maybe):
    def __init__(self, p: float = 0.1):
        super().__init__(p)

    def change(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, F.get_image_num_channels(img))


class RandomApply(_Maybe):
    """Several transforms together, or none of them."""

    def __init__(self, transforms: Sequence[Callable], p: float = 0.5):
        super().__init__(p)
        self.transforms = transforms

    def change(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img


class RandomChoice:
    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None):
        self.transforms, self.p = transforms, p

    def __call__(self, *args: Any) -> Any:
        shares = None if self.p is None else [share / sum(self.p) for share in self.p]
        return self.transforms[int(numpy_generator().choice(len(self.transforms), p=shares))](*args)


class RandomOrder:
    def __init__(self, transforms: Sequence[Callable]):
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for place in numpy_generator().permutation(len(self.transforms)):
            img = self.transforms[place](img)
        return img


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
            area = h * w * _between(*self.scale)
            shape = math.exp(_between(math.log(self.ratio[0]), math.log(self.ratio[1])))
            width, height = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < width <= w and 0 < height <= h:
                top, left = numpy_generator().integers(0, (h - height + 1, w - width + 1))
                break
        else:  # no such part fits: the largest from the middle
            width, height = min(w, round(h * max(self.ratio))), min(h, round(w / min(self.ratio)))
            top, left = (h - height) // 2, (w - width) // 2
        part = (int(top), int(left), height, width)
        return F.resized_crop(img, *part, self.size, self.interpolation, self.antialias)


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
        self.degrees = (-degrees, degrees) if isinstance(degrees, (int, float)) else tuple(degrees)
        self.interpolation, self.expand, self.center, self.fill = interpolation, expand, center, fill

    def forward(self, img: Any) -> Any:
        angle = _between(*self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)


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
        self.degrees = (-degrees, degrees) if isinstance(degrees, (int, float)) else tuple(degrees)
        self.translate, self.scale = translate, scale
        self.shear = (-shear, shear) if isinstance(shear, (int, float)) else shear
        self.interpolation, self.fill, self.center = interpolation, fill, center

    def forward(self, img: Any) -> Any:
        h, w = F.planes_of(img).shape[-2:]
        angle = _between(*self.degrees)
        reach = (0.0, 0.0) if self.translate is None else (self.translate[0] * w, self.translate[1] * h)
        shift = [round(_between(-each, each)) for each in reach]
        scale = 1.0 if self.scale is None else _between(*self.scale)
        slant = [0.0, 0.0]
        if self.shear is not None:
            slant = [_between(self.shear[0], self.shear[1]), _between(*self.shear[2:4]) if self.shear[2:] else 0.0]
        return F.affine(img, angle, shift, scale, slant, self.interpolation, self.fill, self.center)


class ColorJitter(Module):
    """Brightness, contrast, saturation and hue changed by random amounts, in random order."""

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0):
        super().__init__()
        self.brightness, self.contrast, self.saturation = brightness, contrast, saturation
        self.hue = hue

    @staticmethod
    def _range(value: Any, middle: float) -> tuple[float, float] | None:
        if isinstance(value, (int, float)):
            low = middle - value
            return None if value == 0 else (max(low, 0.0) if middle == 1 else low, middle + value)
        return float(value[0]), float(value[1])

    def forward(self, img: Any) -> Any:
        changes = (
            (F.adjust_brightness, self._range(self.brightness, 1)),
            (F.adjust_contrast, self._range(self.contrast, 1)),
            (F.adjust_saturation, self._range(self.saturation, 1)),
            (F.adjust_hue, self._range(self.hue, 0)),
        )
        for place in numpy_generator().permutation(len(changes)):
            change, limits = changes[place]
            if limits is not None:
                img = change(img, _between(*limits))
        return img


class GaussianBlur(Module):
    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)):
        super().__init__()
        self.kernel_size = F.pair(kernel_size)
        self.sigma = (sigma, sigma) if isinstance(sigma, (int, float)) else tuple(sigma)

    def forward(self, img: Any) -> Any:
        return F.gaussian_blur(img, self.kernel_size, _between(*self.sigma))


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
        if not _chance(self.p):
            return img
        h, w = img._array.shape[-2:]
        for _ in range(10):
            area = h * w * _between(*self.scale)
            shape = math.exp(_between(math.log(self.ratio[0]), math.log(self.ratio[1])))
            height, width = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if height < h and width < w:
                top, left = (int(n) for n in numpy_generator().integers(0, (h - height + 1, w - width + 1)))
                value = self.value
                if value == "random":
                    value = numpy_generator().standard_normal((*img._array.shape[:-2], height, width))
                return F.erase(img, top, left, height, width, value, self.inplace)
        return img
