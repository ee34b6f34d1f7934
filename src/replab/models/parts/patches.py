"""Images as sequences of patch tokens with learned or fixed positions and, if wanted, a CLS token in front."""

import numpy as np
import torch
from torch import nn

from replab.data.images import ImageSpec


class PatchTokens(nn.Module):
    """A convolution whose stride is its kernel: the same as flattening each patch and projecting it."""

    def __init__(
        self,
        image: ImageSpec,
        patch: int,
        width: int,
        dropout: float,
        *,
        cls: bool,
        start: str,
        positions: str = "learned",
    ):
        super().__init__()
        begin = {"zeros": torch.zeros, "normal": torch.randn}[start]
        self.project = nn.Conv2d(image.channels, width, patch, stride=patch)
        rows, columns = image.height // patch, image.width // patch
        self.cls = nn.Parameter(begin(1, 1, width)) if cls else None
        if positions == "learned":
            self.positions = nn.Parameter(begin(1, rows * columns + cls, width))
        else:
            fixed = {"1d": line_positions, "2d": grid_positions}[positions](rows, columns, width)
            fixed = np.concatenate([np.zeros((int(cls), width)), fixed])  # the CLS token has no place
            self.register_buffer("positions", torch.tensor(fixed[None].astype(np.float32)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        tokens = self.project(x).flatten(2).permute(0, 2, 1)  # (B, width, rows, columns) to (B, T, width)
        if self.cls is not None:
            first = self.cls.expand(tokens.shape[0], -1, -1)
            tokens = torch.cat([first, tokens], dim=1)  # (B, 1 + T, width)
        return self.dropout(tokens + self.positions)


def waves(places: np.ndarray, width: int) -> np.ndarray:
    """Sines and cosines of (T,) places at width / 2 wavelengths from 2π to 20,000π (1706.03762): (T, width)."""
    rates = 10_000.0 ** (-np.arange(width // 2) / (width // 2))
    angles = places[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def line_positions(rows: int, columns: int, width: int) -> np.ndarray:
    """Patches counted along the rows: (rows · columns, width)."""
    return waves(np.arange(rows * columns), width)


def grid_positions(rows: int, columns: int, width: int) -> np.ndarray:
    """Half of the width says the row, half the column: (rows · columns, width)."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    return np.concatenate([waves(row, width // 2), waves(column, width // 2)], axis=1)
