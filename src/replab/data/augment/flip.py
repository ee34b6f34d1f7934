"""Mirror half of the images left to right."""

from __future__ import annotations

import torch
from torch import Tensor

from replab.data.augment.steps import augmentation


@augmentation
def flip(x: Tensor, generator: torch.Generator, black: Tensor) -> Tensor:
    """Mirror half of the images left to right."""
    mirrored = torch.rand(len(x), generator=generator) < 0.5
    return torch.where(mirrored.to(x.device).view(-1, 1, 1, 1), x.flip(3), x)
