"""Augmentation by named changes of a given magnitude: AutoAugment, RandAugment and TrivialAugmentWide.

A space of changes is a table: name → (the magnitudes to choose from, whether the sign is drawn too).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from mytorch.nn.modules.module import Module
from mytorch.random import numpy_generator

from . import functional as F
from .functional import InterpolationMode
from .policies import POLICIES

Space = dict[str, tuple[np.ndarray, bool]]


class AutoAugmentPolicy(Enum):
    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


def _sheared(x: bool) -> Callable:
    def change(img: Any, magnitude: float, mode: Any, fill: Any) -> Any:
        angle = math.degrees(math.atan(magnitude))
        return F.affine(img, 0.0, [0, 0], 1.0, [angle, 0.0] if x else [0.0, angle], mode, fill, [0, 0])

    return change


def _shifted(x: bool) -> Callable:
    def change(img: Any, magnitude: float, mode: Any, fill: Any) -> Any:
        way = [int(magnitude), 0] if x else [0, int(magnitude)]
        return F.affine(img, 0.0, way, 1.0, [0.0, 0.0], mode, fill)

    return change


def _adjusted(adjust: Callable) -> Callable:
    return lambda img, magnitude, mode, fill: adjust(img, 1.0 + magnitude)


_CHANGES: dict[str, Callable] = {
    "Identity": lambda img, magnitude, mode, fill: img,
    "ShearX": _sheared(True),
    "ShearY": _sheared(False),
    "TranslateX": _shifted(True),
    "TranslateY": _shifted(False),
    "Rotate": lambda img, magnitude, mode, fill: F.rotate(img, magnitude, mode, fill=fill),
    "Brightness": _adjusted(F.adjust_brightness),
    "Color": _adjusted(F.adjust_saturation),
    "Contrast": _adjusted(F.adjust_contrast),
    "Sharpness": _adjusted(F.adjust_sharpness),
    "Posterize": lambda img, magnitude, mode, fill: F.posterize(img, int(magnitude)),
    "Solarize": lambda img, magnitude, mode, fill: F.solarize(img, magnitude),
    "AutoContrast": lambda img, magnitude, mode, fill: F.autocontrast(img),
    "Equalize": lambda img, magnitude, mode, fill: F.equalize(img),
    "Invert": lambda img, magnitude, mode, fill: F.invert(img),
}


def _space(bins: int, shear: float, shift: tuple[float, float], turn: float, colour: float, bits: int) -> Space:
    """Magnitudes from nothing to the given limits. Posterize is left with 8 - `bits` bits at most."""
    steps = np.arange(bins)
    limits = {"ShearX": shear, "ShearY": shear, "TranslateX": shift[0], "TranslateY": shift[1], "Rotate": turn}
    limits |= dict.fromkeys(("Brightness", "Color", "Contrast", "Sharpness"), colour)
    space: Space = {"Identity": (np.zeros(1), False)}
    space |= {name: (np.linspace(0.0, limit, bins), True) for name, limit in limits.items()}
    space["Posterize"] = (8 - np.round(steps / ((bins - 1) / bits)), False)
    space["Solarize"] = (np.linspace(255.0, 0.0, bins), False)
    return space | dict.fromkeys(("AutoContrast", "Equalize"), (np.zeros(1), False))


class _Augment(Module):
    def __init__(self, interpolation: Any, fill: Any):
        super().__init__()
        self.interpolation, self.fill = interpolation, fill

    def _space(self, img: Any, bins: int) -> Space:
        height, width = F.planes_of(img).shape[-2:]
        return _space(bins, 0.3, (150.0 / 331.0 * width, 150.0 / 331.0 * height), 30.0, 0.9, 4)

    def _change(self, img: Any, name: str, magnitude: float, signed: bool) -> Any:
        if signed and numpy_generator().random() < 0.5:
            magnitude = -magnitude
        return _CHANGES[name](img, float(magnitude), self.interpolation, self.fill)


class AutoAugment(_Augment):
    """One of 25 pairs of changes, each with its own probability and magnitude, found by search on a data set."""

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = None,
    ):
        super().__init__(interpolation, fill)
        self.policy = policy
        lines = POLICIES[policy.value].strip().splitlines()
        self.policies = [[change.split() for change in line.split(",")] for line in lines]

    def forward(self, img: Any) -> Any:
        space = self._space(img, 10) | {"Invert": (np.zeros(1), False)}
        for name, p, *level in self.policies[int(numpy_generator().integers(len(self.policies)))]:
            if numpy_generator().random() < float(p):
                magnitudes, signed = space[name]
                img = self._change(img, name, magnitudes[int(level[0]) if level else 0], signed)
        return img

    def __repr__(self) -> str:
        return f"AutoAugment(policy={self.policy}, fill={self.fill})"


class RandAugment(_Augment):
    """num_ops changes drawn alike, all of one magnitude."""

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = None,
    ):
        super().__init__(interpolation, fill)
        self.num_ops, self.magnitude, self.num_magnitude_bins = num_ops, magnitude, num_magnitude_bins

    def forward(self, img: Any) -> Any:
        space = self._space(img, self.num_magnitude_bins)
        for _ in range(self.num_ops):
            name = list(space)[int(numpy_generator().integers(len(space)))]
            magnitudes, signed = space[name]
            img = self._change(img, name, magnitudes[self.magnitude if len(magnitudes) > 1 else 0], signed)
        return img

    def __repr__(self) -> str:
        return (
            f"RandAugment(num_ops={self.num_ops}, magnitude={self.magnitude}, "
            f"num_magnitude_bins={self.num_magnitude_bins}, interpolation={self.interpolation}, fill={self.fill})"
        )


class TrivialAugmentWide(_Augment):
    """One change, of a magnitude drawn from a wide range."""

    def __init__(self, num_magnitude_bins: int = 31, interpolation: Any = InterpolationMode.NEAREST, fill: Any = None):
        super().__init__(interpolation, fill)
        self.num_magnitude_bins = num_magnitude_bins

    def _space(self, img: Any, bins: int) -> Space:
        return _space(bins, 0.99, (32.0, 32.0), 135.0, 0.99, 6)

    def forward(self, img: Any) -> Any:
        space = self._space(img, self.num_magnitude_bins)
        name = list(space)[int(numpy_generator().integers(len(space)))]
        magnitudes, signed = space[name]
        return self._change(img, name, magnitudes[int(numpy_generator().integers(len(magnitudes)))], signed)

    def __repr__(self) -> str:
        return (
            f"TrivialAugmentWide(num_magnitude_bins={self.num_magnitude_bins}, "
            f"interpolation={self.interpolation}, fill={self.fill})"
        )
