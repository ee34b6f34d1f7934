"""Paste a rectangle of another image of the batch into each image; labels mix by area (CutMix, 1905.04899)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from replab.data.augment.steps import Mixed, augmentation, drawn_share


@augmentation(mixes_labels=True)
def cutmix(x: Tensor, generator: torch.Generator, black: Tensor, alpha: float = 1.0) -> Mixed:
    """The rectangle covers a share drawn from Beta(alpha, alpha) around a random pixel; at the border less."""
    _, _, h, w = x.shape
    side = math.sqrt(1 - drawn_share(alpha, generator))  # of the image's
    row, column = (int(torch.randint(0, n, (1,), generator=generator)) for n in (h, w))
    top, bottom = max(row - round(side * h / 2), 0), min(row + round(side * h / 2), h)
    left, right = max(column - round(side * w / 2), 0), min(column + round(side * w / 2), w)
    partner = torch.randperm(len(x), generator=generator).to(x.device)
    pasted = x.clone()
    pasted[:, :, top:bottom, left:right] = x[partner, :, top:bottom, left:right]
    return Mixed(pasted, partner, 1 - (bottom - top) * (right - left) / (h * w))
