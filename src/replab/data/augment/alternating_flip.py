"""Mirror each image in every other epoch, half of them in the even ones."""

from __future__ import annotations

import torch
from torch import Tensor

from replab.data.augment.steps import Turn, augmentation


@augmentation(by_turn=True)
def alternating_flip(x: Tensor, generator: torch.Generator, black: Tensor, *, turn: Turn) -> Tensor:
    """No image is shown the same way twice in a row, so any two epochs have all views (2404.00498)."""
    mirrored = (turn.coin < 0.5) ^ bool(turn.epoch % 2)
    return torch.where(mirrored.to(x.device).view(-1, 1, 1, 1), x.flip(3), x)
