"""Replace a random rectangle of some images by noise (random erasing, 1708.04896)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from replab.data.augment.steps import augmentation

LEAST_AREA, ASPECT = 0.02, 3.3  # as published: of the image, and of the longer side to the shorter


@augmentation(limits={"share": 1.0000001, "most_area": 1.0})
def random_erasing(
    x: Tensor, generator: torch.Generator, black: Tensor, share: float = 0.5, most_area: float = 0.4
) -> Tensor:
    """`share` of the images lose a rectangle of 0.02 to `most_area` of their area; the noise is normal."""
    b, _, h, w = x.shape
    chosen, area, aspect, top, left = torch.rand(5, b, generator=generator)
    area = (LEAST_AREA + (max(most_area, LEAST_AREA) - LEAST_AREA) * area) * h * w
    ratio = torch.exp((2 * aspect - 1) * math.log(ASPECT))
    height, width = (area * ratio).sqrt().round().clamp(1, h), (area / ratio).sqrt().round().clamp(1, w)
    rows, columns = _inside(top, height, h), _inside(left, width, w)
    erased = (chosen < share).view(b, 1, 1, 1) & rows.view(b, 1, h, 1) & columns.view(b, 1, 1, w)
    noise = torch.randn(x.shape, generator=generator).to(x.device)
    return torch.where(erased.to(x.device), noise, x)


def _inside(place: Tensor, length: Tensor, side: int) -> Tensor:
    """(B, side): whether each row or column is between a random place and `length` further."""
    start = (place * (side - length + 1)).floor().view(-1, 1)
    at = torch.arange(side).view(1, -1)
    return (at >= start) & (at < start + length.view(-1, 1))
