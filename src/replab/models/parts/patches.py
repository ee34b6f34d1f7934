"""Images as sequences of patch tokens with learnable positions and, if wanted, a CLS token in front."""

import torch
from torch import nn

from replab.data.images import ImageSpec


class PatchTokens(nn.Module):
    """A convolution whose stride is its kernel: the same as flattening each patch and projecting it."""

    def __init__(self, image: ImageSpec, patch: int, width: int, dropout: float, *, cls: bool, start: str):
        super().__init__()
        begin = {"zeros": torch.zeros, "normal": torch.randn}[start]
        self.project = nn.Conv2d(image.channels, width, patch, stride=patch)
        tokens = (image.height // patch) * (image.width // patch) + cls
        self.cls = nn.Parameter(begin(1, 1, width)) if cls else None
        self.positions = nn.Parameter(begin(1, tokens, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        tokens = self.project(x).flatten(2).permute(0, 2, 1)  # (B, width, rows, columns) to (B, T, width)
        if self.cls is not None:
            first = self.cls.expand(tokens.shape[0], -1, -1)
            tokens = torch.cat([first, tokens], dim=1)  # (B, 1 + T, width)
        return self.dropout(tokens + self.positions)
