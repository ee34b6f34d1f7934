"""What a published set of weights was made for, and the layer that gives a network such images."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Backbone:
    """What a published set of weights was made for."""

    name: str
    url: str  # its file name ends in the first digits of its SHA-256
    side: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    may_differ: tuple[str, ...] = ()  # besides the head

    @property
    def file(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def hash_prefix(self) -> str:
        return self.file.rpartition(".")[0].rpartition("-")[2]


class Input(nn.Module):
    """(B, C, H, W) → what the network was made for: its channels and size, and its normalisation of [0, 1]."""

    mean: torch.Tensor
    std: torch.Tensor

    def __init__(self, channels: int, side: int | None, mean: tuple[float, ...] = (), std: tuple[float, ...] = ()):
        super().__init__()
        self.channels, self.side = channels, side
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(-1, 1, 1), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.side is not None and x.shape[-2:] != (self.side, self.side):
            x = nn.functional.interpolate(x, (self.side, self.side), mode="bilinear", antialias=True)
        if x.shape[1] == 1 and self.channels == 3:
            x = x.expand(-1, 3, -1, -1)  # gray: the same in every channel
        return (x - self.mean) / self.std if len(self.mean) else x

    def extra_repr(self) -> str:
        words = [f"{self.channels} channels"] + ([f"resize to {self.side}"] if self.side else [])
        if len(self.mean):
            words.append(f"mean {self.mean.flatten().tolist()}, std {self.std.flatten().tolist()}")
        return ", ".join(words)


class BehindInput(nn.Module):
    """A network behind its input layer. Its weights keep their names, below `net.`."""

    def __init__(self, input: Input, net: nn.Module):
        super().__init__()
        self.input, self.net = input, net

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(self.input(x))
