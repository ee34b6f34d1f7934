"""Transforms that are made or left out, chosen or put in order by chance, with mytorch's random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mytorch.nn.modules.module import Module
from mytorch.random import numpy_generator

from . import functional as F
from .functional import InterpolationMode


def chance(p: float) -> bool:
    return bool(numpy_generator().random() < p)


def between(low: float, high: float) -> float:
    return float(numpy_generator().uniform(low, high))


class _Maybe(Module):
    """Changes the image with probability p."""

    def __init__(self, p: float = 0.5):
        super().__init__()
        self.p = p

    def change(self, img: Any) -> Any:
        raise NotImplementedError

    def forward(self, img: Any) -> Any:
        return self.change(img) if chance(self.p) else img

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


class RandomAutocontrast(_Maybe):
    def change(self, img: Any) -> Any:
        return F.autocontrast(img)


class RandomEqualize(_Maybe):
    def change(self, img: Any) -> Any:
        return F.equalize(img)


class _MaybeBy(_Maybe):
    """As _Maybe, of a change with one setting."""

    setting = ""

    def __init__(self, value: float, p: float = 0.5):
        super().__init__(p)
        setattr(self, self.setting, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.setting}={getattr(self, self.setting)},p={self.p})"


class RandomSolarize(_MaybeBy):
    setting = "threshold"

    def __init__(self, threshold: float, p: float = 0.5):
        super().__init__(threshold, p)

    def change(self, img: Any) -> Any:
        return F.solarize(img, self.threshold)


class RandomPosterize(_MaybeBy):
    setting = "bits"

    def __init__(self, bits: int, p: float = 0.5):
        super().__init__(bits, p)

    def change(self, img: Any) -> Any:
        return F.posterize(img, self.bits)


class RandomAdjustSharpness(_MaybeBy):
    setting = "sharpness_factor"

    def __init__(self, sharpness_factor: float, p: float = 0.5):
        super().__init__(sharpness_factor, p)

    def change(self, img: Any) -> Any:
        return F.adjust_sharpness(img, self.sharpness_factor)


class RandomPerspective(_Maybe):
    """Each corner moves inwards by up to distortion_scale of half the image."""

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = 0,
    ):
        super().__init__(p)
        self.distortion_scale, self.interpolation, self.fill = distortion_scale, interpolation, fill

    def change(self, img: Any) -> Any:
        height, width = F.planes_of(img).shape[-2:]
        corners = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, *corners, self.interpolation, self.fill)

    @staticmethod
    def get_params(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
        """Where the corners are and where they go, from the upper left one clockwise, (x, y) each."""
        start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        reach = int(distortion_scale * (width // 2)) + 1, int(distortion_scale * (height // 2)) + 1
        inward = numpy_generator().integers(0, reach, (4, 2))
        return start, [[abs(x - int(dx)), abs(y - int(dy))] for (x, y), (dx, dy) in zip(start, inward)]


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

    def __repr__(self) -> str:
        return f"RandomApply(\n    p={self.p}{_lines(self.transforms)}\n)"


def _lines(transforms: Sequence[Callable]) -> str:
    return "".join(f"\n    {transform}" for transform in transforms)


class RandomChoice:
    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None):
        self.transforms, self.p = transforms, p

    def __repr__(self) -> str:
        return f"RandomChoice({_lines(self.transforms)}\n)(p={self.p})"

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

    def __repr__(self) -> str:
        return f"RandomOrder({_lines(self.transforms)}\n)"
