"""Blacken a square around a random pixel."""

from __future__ import annotations

import torch
from torch import Tensor

from replab.data.augment.steps import augmentation


@augmentation(sides={"side": 2})
def cutout(x: Tensor, generator: torch.Generator, black: Tensor, side: int = 8) -> Tensor:
    """Blacken a square of `side` pixels around a random pixel; at the border only the part inside."""
    b, _, h, w = x.shape
    top = torch.randint(0, h, (b,), generator=generator).to(x.device) - side // 2
    left = torch.randint(0, w, (b,), generator=generator).to(x.device) - side // 2
    rows = torch.arange(h, device=x.device) - top.view(-1, 1)  # (B, H), 0..side-1 inside the square
    columns = torch.arange(w, device=x.device) - left.view(-1, 1)
    in_rows = ((rows >= 0) & (rows < side)).view(b, 1, h, 1)
    in_columns = ((columns >= 0) & (columns < side)).view(b, 1, 1, w)
    return torch.where(in_rows & in_columns, black, x)
