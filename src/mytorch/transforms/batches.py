"""transforms.v2's MixUp and CutMix: every image of a batch mixed with the one before it, and their labels alike."""

from __future__ import annotations

import math
from typing import Any

from mytorch.nn import functional as F
from mytorch.nn.modules.module import Module
from mytorch.random import numpy_generator
from mytorch.tensor import Tensor


class _Mixed(Module):
    def __init__(self, *, alpha: float = 1.0, num_classes: int | None = None, labels_getter: Any = "default"):
        super().__init__()
        if labels_getter != "default":
            raise NotImplementedError("mytorch takes (images, labels); other labels_getter are not there")
        self.alpha, self.num_classes = float(alpha), num_classes

    def forward(self, *inputs: Any) -> tuple[Tensor, Tensor]:
        images, labels = inputs[0] if len(inputs) == 1 else inputs
        if images.dim() != 4:
            raise ValueError(f"Expected a batched input with 4 dims, but got {images.dim()} dimensions instead.")
        if labels.dim() == 1:
            if self.num_classes is None:
                raise ValueError("num_classes must be passed if the labels are index-based (1D)")
            labels = F.one_hot(labels, self.num_classes)
        images, share = self._mix(images, float(numpy_generator().beta(self.alpha, self.alpha)))
        labels = labels.float()
        return images, labels.roll(1, 0) * (1.0 - share) + labels * share

    def _mix(self, images: Tensor, share: float) -> tuple[Tensor, float]:
        """The mixed images, and how much of each is the image itself."""
        raise NotImplementedError


class MixUp(_Mixed):
    def _mix(self, images: Any, share: float) -> tuple[Tensor, float]:
        return images.roll(1, 0) * (1.0 - share) + images * share, share


class CutMix(_Mixed):
    def _mix(self, images: Any, share: float) -> tuple[Tensor, float]:
        height, width = images.shape[-2:]
        x, y = numpy_generator().integers(0, (width, height)).tolist()
        half = 0.5 * math.sqrt(1.0 - share)
        left, right = max(int(x - half * width), 0), min(int(x + half * width), width)
        top, bottom = max(int(y - half * height), 0), min(int(y + half * height), height)
        mixed = images.clone()
        mixed[..., top:bottom, left:right] = images.roll(1, 0)[..., top:bottom, left:right]
        return mixed, 1.0 - (right - left) * (bottom - top) / (width * height)
