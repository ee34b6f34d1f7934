"""Change brightness, contrast and saturation by random factors."""

from __future__ import annotations

import torch
from torch import Tensor

from replab.data.augment.steps import augmentation

LUMA = (0.299, 0.587, 0.114)  # of red, green and blue, ITU-R BT.601


@augmentation(limits={"brightness": 1.0, "contrast": 1.0, "saturation": 1.0}, needs_white=True)
def color_jitter(
    x: Tensor,
    generator: torch.Generator,
    black: Tensor,
    brightness: float = 0.4,
    contrast: float = 0.4,
    saturation: float = 0.4,
    *,
    white: Tensor,
) -> Tensor:
    """Each by a factor from 1 - amount to 1 + amount, in this order; pixels stay between black and white."""
    factors = 1 + (2 * torch.rand(3, len(x), 1, 1, 1, generator=generator) - 1) * torch.tensor(
        [brightness, contrast, saturation]
    ).view(3, 1, 1, 1, 1)
    bright, strong, vivid = factors.to(x.device)
    pixels = ((x - black) / (white - black) * bright).clamp(0, 1)  # (B, C, H, W) from 0 to 1, however normalised
    pixels = _blend(pixels, _gray(pixels).mean((2, 3), keepdim=True), strong)
    if x.shape[1] == 3:
        pixels = _blend(pixels, _gray(pixels), vivid)
    return black + pixels * (white - black)


def _blend(pixels: Tensor, other: Tensor, factor: Tensor) -> Tensor:
    return (other + factor * (pixels - other)).clamp(0, 1)


def _gray(pixels: Tensor) -> Tensor:
    """(B, 1, H, W)"""
    if pixels.shape[1] != 3:
        return pixels.mean(1, keepdim=True)
    return (pixels * torch.tensor(LUMA, device=pixels.device).view(1, 3, 1, 1)).sum(1, keepdim=True)
