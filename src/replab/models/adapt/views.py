"""Test-time augmentation: logits as the mean over views of an image. As airbench94 weighs them (2404.00498)."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional


def over_views(model: Any, x: Tensor, views: str) -> Tensor:
    """`flip`: the image and its mirror image. `multicrop`: half of that, half of both shifted by a pixel."""
    if views == "none":
        return _logits(model, x)
    if views == "flip":
        return _both(model, x)
    height, width = x.shape[2:]
    wide = functional.pad(x, (1,) * 4, mode="reflect")
    shifted = [wide[:, :, :height, :width], wide[:, :, 2:, 2:]]  # down and right; up and left
    return 0.5 * _both(model, x) + 0.25 * sum(_both(model, view) for view in shifted)


def _both(model: Any, x: Tensor) -> Tensor:
    return 0.5 * _logits(model, x) + 0.5 * _logits(model, x.flip(3))


def _logits(model: Any, x: Tensor) -> Tensor:
    logits: Tensor = model(x)
    return logits


class Viewed:
    """In a model's place where it is evaluated: `model(x)` → its logits over the views of x."""

    def __init__(self, model: Any, views: str):
        self.model, self.views = model, views

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def __call__(self, x: Tensor) -> Tensor:
        return over_views(self.model, x, self.views)


def viewed(model: Any, views: str) -> Any:
    return model if views == "none" else Viewed(model, views)
