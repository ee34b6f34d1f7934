"""Test-time augmentation: logits as the mean over views of an image. As airbench94 weighs them (2404.00498)."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional


class Viewed:
    """In a model's place where it is evaluated: `model(x)` → its logits over the views of x."""

    def __init__(self, model: Any, views: str):
        self.model, self.views = model, views

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def __call__(self, x: Tensor) -> Tensor:
        """`flip`: the image and its mirror image. `multicrop`: half of that, half of both shifted by a pixel."""
        if self.views == "flip":
            return self._both(x)
        height, width = x.shape[2:]
        wide = functional.pad(x, (1,) * 4, mode="reflect")
        shifted = [wide[:, :, :height, :width], wide[:, :, 2:, 2:]]  # down and right; up and left
        return 0.5 * self._both(x) + 0.25 * sum(self._both(view) for view in shifted)

    def _both(self, x: Tensor) -> Tensor:
        logits: Tensor = 0.5 * self.model(x) + 0.5 * self.model(x.flip(3))
        return logits


def viewed(model: Any, views: str) -> Any:
    return model if views == "none" else Viewed(model, views)
