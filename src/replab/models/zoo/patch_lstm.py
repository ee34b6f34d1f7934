"""Bidirectional LSTM over patches. On CIFAR-10 (notes/patch-lstm): 2,536,842 parameters, 68.11 %.

`readout="last"` is as published: the last time step, whose backward half has seen one patch only, so that
262,144 weights (the backward recurrence of the last layer) never get a gradient. `ends` takes each direction
where it has seen all, `mean` averages over time.
"""

import torch
from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.patches import PatchTokens
from replab.models.registry import register
from replab.models.rules import fraction, multiple_of, one_of, whole


class PatchLSTM(nn.Module):
    def __init__(self, image: ImageSpec, patch: int, width: int, hidden: int, depth: int, dropout: float, readout: str):
        super().__init__()
        self.readout = readout
        self.tokens = PatchTokens(image, patch, width, dropout, cls=False, start="normal")
        between = dropout if depth > 1 else 0.0  # dropout acts between layers only
        self.lstm = nn.LSTM(width, hidden, depth, batch_first=True, bidirectional=True, dropout=between)
        self.head = nn.Sequential(
            nn.LayerNorm(2 * hidden),
            nn.Linear(2 * hidden, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, image.classes),
        )

    def forward(self, x):
        states, _ = self.lstm(self.tokens(x))  # (B, T, forward and backward)
        return self.head(self._read(states))

    def _read(self, states):
        if self.readout == "mean":
            return states.mean(dim=1)
        if self.readout == "last":
            return states[:, -1]
        half = states.shape[-1] // 2
        return torch.cat([states[:, -1, :half], states[:, 0, half:]], dim=-1)


@register
def patch_lstm(
    image: ImageSpec,
    *,
    patch: int = 2,
    width: int = 128,
    hidden: int = 256,
    depth: int = 2,
    dropout: float = 0.1,
    readout: str = "last",
) -> nn.Module:
    multiple_of("patch-lstm", image, whole("patch-lstm", "patch", patch))
    for parameter, value in (("width", width), ("hidden", hidden), ("depth", depth)):
        whole("patch-lstm", parameter, value)
    fraction("patch-lstm", "dropout", dropout)
    one_of("patch-lstm", "readout", readout, ("last", "mean", "ends"))
    return PatchLSTM(image, patch, width, hidden, depth, dropout, readout)
