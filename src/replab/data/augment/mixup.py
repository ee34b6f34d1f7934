"""Mix each image and its label with those of another image of the batch (mixup, 1710.09412)."""

from __future__ import annotations

import torch
from torch import Tensor

from replab.data.augment.steps import Mixed, augmentation, drawn_share


@augmentation(mixes_labels=True)
def mixup(x: Tensor, generator: torch.Generator, black: Tensor, alpha: float = 0.2) -> Mixed:
    """One share per batch, drawn from Beta(alpha, alpha), as published."""
    share = drawn_share(alpha, generator)
    partner = torch.randperm(len(x), generator=generator).to(x.device)
    return Mixed(share * x + (1 - share) * x[partner], partner, share)
