"""Rotate, shift and zoom by random amounts."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from replab.data.augment.steps import augmentation


@augmentation(limits={"zoom": 1.0}, sides={"shift": 1})
def affine(
    x: Tensor,
    generator: torch.Generator,
    black: Tensor,
    degrees: float = 10,
    shift: float = 3,
    zoom: float = 0.1,
    enlarge: float | None = None,
) -> Tensor:
    """Rotate by ±degrees, shift by ±shift pixels, zoom from 1-zoom to 1+enlarge (default: 1+zoom)."""
    b, _, h, w = x.shape
    turn, dx, dy, scale = torch.rand(4, b, generator=generator)
    angle = torch.deg2rad((2 * turn - 1) * degrees)
    low, high = 1 - zoom, 1 + (zoom if enlarge is None else enlarge)
    factor = low + (high - low) * scale
    cos, sin = torch.cos(angle) / factor, torch.sin(angle) / factor
    # affine_grid maps output to input in units of half an image: a turn of an oblong image needs its aspect
    shift_x, shift_y = (2 * dx - 1) * 2 * shift / w, (2 * dy - 1) * 2 * shift / h
    theta = torch.stack([torch.stack([cos, -sin * h / w, shift_x], 1), torch.stack([sin * w / h, cos, shift_y], 1)], 1)
    grid = F.affine_grid(theta.to(x.device), list(x.shape), align_corners=False)  # (B, H, W, 2)
    # grid_sample fills with 0: black is made 0 meanwhile
    return F.grid_sample(x - black, grid, align_corners=False) + black
