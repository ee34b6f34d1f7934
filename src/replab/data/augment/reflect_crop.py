"""Shift by up to some pixels; what comes in from outside is the image's own reflection."""

from __future__ import annotations

import torch
from torch import Tensor

from replab.data.augment.steps import augmentation


@augmentation(sides={"pad": 1})
def reflect_crop(x: Tensor, generator: torch.Generator, black: Tensor, pad: int = 2) -> Tensor:
    """Pad by `pad` reflected pixels on each side and cut out the image's size at a random place."""
    b, _, h, w = x.shape
    top, left = torch.randint(0, 2 * pad + 1, (2, b), generator=generator).to(x.device)
    padded = torch.nn.functional.pad(x, (pad,) * 4, mode="reflect")
    windows = padded.unfold(2, h, 1).unfold(3, w, 1)  # a view: (B, C, 2 pad + 1, 2 pad + 1, H, W)
    return windows[torch.arange(b, device=x.device), :, top, left]
