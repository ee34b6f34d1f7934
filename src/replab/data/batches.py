"""Batches: shuffle → gather → normalise → augment, whole batches of tensors at a time, on the model's device.

Epoch n depends on (seed, n) only: the same in a resumed run as in one left alone. torch's global generator
is untouched.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from replab import interruption
from replab.data.augment import steps
from replab.data.images import Images
from replab.data.mapped import Mapped, ahead
from replab.data.normalise import Normalisation
from replab.errors import RecipeError


class Batch(NamedTuple):
    x: Tensor  # (B, C, H, W) float, on the device
    y: Tensor | None  # (B,) int64, on the device
    index: Tensor  # (B,) int64, on the CPU: which images
    target: Tensor | None = None  # (B, classes) float, where labels are mixed; y is then each image's own


class Batches:
    """Images as float batches. `len()` is the number of batches of an epoch; `epoch(n)` yields them.

    Nothing is dropped, so the last batch may be small. Shuffled, a last batch of a single image joins the one
    before it: BatchNorm cannot train on one image. Without `normalise` pixels are scaled to [0, 1].
    """

    _mapped: Mapped | None = None

    def __init__(
        self,
        images: Images,
        batch_size: int,
        *,
        seed: int = 0,
        shuffle: bool = False,
        normalise: Normalisation | None = None,
        augment: str | Sequence[str | steps.Step] = (),
        device: str | torch.device = "cpu",
        channels_last: bool = False,
        dtype: torch.dtype = torch.float32,
    ):
        if batch_size < 1:
            raise RecipeError(f"batch_size must be at least 1, got {batch_size}")
        self.batch_size, self.seed, self.shuffle = batch_size, seed, shuffle
        self.augment = steps.parse(augment)
        self._mixes = steps.mixes_labels(self.augment)
        if self._mixes and images.labels is None:
            raise RecipeError("mixup and cutmix mix labels, and these images have none; leave them out of --augment")
        self._classes = len(images.classes)
        self.device, self.dtype, self.channels_last = torch.device(device), dtype, channels_last
        self.size = len(images)
        self.shape = images.pixels.shape[1:]

        # One row of bytes per image, in the memory order of the batch: gathering and scaling then run over
        # plain rows, and channels_last costs nothing per batch.
        self._mapped = images.pixels if isinstance(images.pixels, Mapped) else None
        self._rows = torch.empty(0, dtype=torch.uint8)
        if self._mapped is None:
            pixels = images.pixels.transpose(0, 2, 3, 1) if channels_last else images.pixels
            pixels = np.require(pixels, requirements=["C", "W"])  # copied only if it must be: torch wants both
            rows = torch.from_numpy(pixels.reshape(self.size, math.prod(self.shape)))
            resident = self.device.type != "cuda" or rows.numel() < torch.cuda.mem_get_info(self.device)[0] / 3
            self._rows = rows.to(self.device) if resident else rows
        self._labels = None if images.labels is None else torch.from_numpy(images.labels.astype(np.int64))

        # float = pixel * scale + shift does /255, -mean and /std at once
        channels = self.shape[0]
        mean, std = normalise if normalise is not None else ((0.0,) * channels, (1.0,) * channels)
        if not len(mean) == len(std) == channels:
            raise RecipeError(f"normalise needs {channels} means and stds, one per channel, got {mean}, {std}")
        deviation = torch.tensor(std, dtype=torch.float64)
        scale, shift = 1 / (255 * deviation), -torch.tensor(mean, dtype=torch.float64) / deviation
        self._scale, self._shift = self._row(scale), self._row(shift)
        self._black = shift.to(self.device, torch.float32).view(1, -1, 1, 1)
        self._white = (shift + 255 * scale).to(self.device, torch.float32).view(1, -1, 1, 1)

    def __len__(self) -> int:
        return len(self._bounds())

    def subset(self, index: np.ndarray) -> Batches:
        """The same batches of some of the images, which are renumbered."""
        found, chosen = copy.copy(self), torch.from_numpy(index)
        found.size = len(index)
        if self._mapped is not None:
            found._mapped = self._mapped.rows(index)
        else:
            found._rows = self._rows[chosen.to(self._rows.device)]
        found._labels = None if self._labels is None else self._labels[chosen]
        return found

    def epoch(self, number: int) -> Iterator[Batch]:
        generator = torch.Generator().manual_seed(_seed(self.seed, number))
        order = torch.randperm(self.size, generator=generator) if self.shuffle else torch.arange(self.size)
        coins = torch.rand(self.size, generator=torch.Generator().manual_seed(_seed(self.seed, 0)))
        indices = [order[start:stop] for start, stop in self._bounds()]
        for index, rows in zip(indices, self._gathered(indices)):
            interruption.heed()  # whatever goes over images for long comes by here
            x = rows.float().mul_(self._scale).add_(self._shift)  # (B, C*H*W), one buffer
            y = None if self._labels is None else self._labels[index].to(self.device)
            own = torch.nn.functional.one_hot(y, self._classes).float() if self._mixes and y is not None else None
            turn = steps.Turn(number, coins[index])
            x, target = steps.apply(self._image(x), self.augment, generator, self._black, own, turn, self._white)
            if self.augment and self.channels_last:
                x = x.contiguous(memory_format=torch.channels_last)
            yield Batch(x.to(self.dtype), y, index, target)

    def _bounds(self) -> list[tuple[int, int]]:
        starts = list(range(0, self.size, self.batch_size))
        if self.shuffle and len(starts) > 1 and self.size - starts[-1] == 1 < self.batch_size:
            starts.pop()
        return list(zip(starts, [*starts[1:], self.size]))

    def _gathered(self, indices: list[Tensor]) -> Iterator[Tensor]:
        """The rows of each batch, on the device. Those on disk are read while the batch before them is computed."""
        if self._mapped is None:
            return map(self._gather, indices)
        return (rows.to(self.device, non_blocking=True) for rows in ahead(self._read, indices))

    def _read(self, index: Tensor) -> Tensor:
        assert self._mapped is not None
        pixels = self._mapped[index.numpy()]  # by NumPy: torch would start threads of its own
        pixels = pixels.transpose(0, 2, 3, 1) if self.channels_last else pixels
        rows = torch.from_numpy(np.ascontiguousarray(pixels).reshape(len(index), math.prod(self.shape)))
        return rows.pin_memory() if self.device.type == "cuda" else rows

    def _gather(self, index: Tensor) -> Tensor:
        if self._rows.device == self.device or self._rows.device.type == self.device.type:
            return self._rows.index_select(0, index.to(self._rows.device))
        # a set too large for the device: pinned memory lets the copy run beside the computing
        return self._rows.index_select(0, index).pin_memory().to(self.device, non_blocking=True)

    def _row(self, per_channel: Tensor) -> Tensor:
        """One number per channel → a row as long as an image's, in the same order."""
        channels, height, width = self.shape
        order = (height, width, channels) if self.channels_last else (channels, height, width)
        shaped = per_channel if self.channels_last else per_channel.view(-1, 1, 1)
        return shaped.expand(order).reshape(-1).to(self.device, torch.float32)

    def _image(self, rows: Tensor) -> Tensor:
        """(B, C*H*W) → (B, C, H, W), in either memory order."""
        channels, height, width = self.shape
        if self.channels_last:
            return rows.view(-1, height, width, channels).permute(0, 3, 1, 2)
        return rows.view(-1, channels, height, width)


def _seed(seed: int, epoch: int) -> int:
    # hashed: torch's CPU generator keeps 32 bits, and seed + epoch would repeat epochs of neighbouring seeds
    return int.from_bytes(sha256(f"{seed}:{epoch}".encode()).digest()[:4], "little")
