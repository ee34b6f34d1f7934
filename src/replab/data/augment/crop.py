"""Pad by black pixels on each side and cut out the image at a random place."""

from __future__ import annotations

import torch
from torch import Tensor

from replab.data.augment.steps import augmentation


@augmentation(sides={"pad": 1})
def crop(x: Tensor, generator: torch.Generator, black: Tensor, pad: int = 4) -> Tensor:
    """Pad by `pad` black pixels on each side and cut out the image's size at a random place."""
    b, c, h, w = x.shape
    top, left = torch.randint(0, 2 * pad + 1, (2, b), generator=generator).to(x.device)
    padded = black.expand(b, c, h + 2 * pad, w + 2 * pad).clone()
    padded[:, :, pad : pad + h, pad : pad + w] = x
    windows = padded.unfold(2, h, 1).unfold(3, w, 1)  # a view: (B, C, 2 pad + 1, 2 pad + 1, H, W)
    return windows[torch.arange(b, device=x.device), :, top, left]
