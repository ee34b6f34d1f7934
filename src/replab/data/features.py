"""Features: what a frozen backbone makes of images, one row of numbers per image, with their labels and in their order.

They take the images' place in search and training: the same splits, and batches of the same images in the same
order, so that a head learns on them what it would learn behind the backbone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from replab.data.batches import Batch, Batches, _seed
from replab.data.images import Images, ImageSpec
from replab.errors import DataError


@dataclass(frozen=True, eq=False)
class Features(Images):
    """`pixels` are float32 (N, D)."""

    def __post_init__(self) -> None:
        if self.pixels.ndim != 2 or self.pixels.dtype != np.float32:
            raise DataError(f"features must be float32 (N, D), got {self.pixels.dtype} {self.pixels.shape}")

    @property
    def spec(self) -> ImageSpec:
        return ImageSpec(self.pixels.shape[1], 1, 1, len(self.classes))


class FeatureBatches(Batches):
    """Rows of features in the order that Batches would give their images."""

    def __init__(
        self, features: Features, batch_size: int, *, seed: int = 0, shuffle: bool = False, device: str = "cpu"
    ):
        self.batch_size, self.seed, self.shuffle = batch_size, seed, shuffle
        self.device, self.size = torch.device(device), len(features)
        rows = torch.from_numpy(np.require(features.pixels, requirements=["C", "W"]))
        resident = self.device.type != "cuda" or 4 * rows.numel() < torch.cuda.mem_get_info(self.device)[0] / 3
        self._rows = rows.to(self.device) if resident else rows
        self._labels = None if features.labels is None else torch.from_numpy(features.labels.astype(np.int64))

    def epoch(self, number: int) -> Iterator[Batch]:
        generator = torch.Generator().manual_seed(_seed(self.seed, number))
        order = torch.randperm(self.size, generator=generator) if self.shuffle else torch.arange(self.size)
        for start, stop in self._bounds():
            index = order[start:stop]
            y = None if self._labels is None else self._labels[index].to(self.device)
            yield Batch(self._gather(index), y, index)
