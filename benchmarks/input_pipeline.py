"""Claim: Batches gives at least 25 times the images a second of a per-image PIL DataLoader with 0 workers.

The same 10,000 CIFAR images, shuffled, batch 128, normalised, on one core, measured alternately; medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from replab.backends.torchvision_cpu import torchvision
from replab.data.batches import Batches
from replab.data.images import Images
from replab.data.load import load
from replab.data.sources.cifar10 import CONSTANTS
from replab.files import data_root

TARGET, COUNT, BATCH, ROUNDS = 25, 10_000, 128, 5
# what must lie in the data folder for the set to be read without a network
ON_DISK = {"cifar10": "cifar-10-batches-py"}


def cifar_images() -> tuple[str, Images]:
    for name, file in ON_DISK.items():
        if (data_root() / file).exists():
            return name, load(name, limit=COUNT).train
    pixels = np.random.default_rng(0).integers(0, 256, (COUNT, 3, 32, 32), dtype=np.uint8)
    return "synthetic images of CIFAR's shape", Images(pixels, np.arange(COUNT) % 10, ("",) * 10, *CONSTANTS)


class OneByOne(Dataset):
    """As torchvision's CIFAR10 hands images out: a PIL image each, then the transforms."""

    def __init__(self, images: Images):
        transforms = torchvision.transforms
        assert images.labels is not None
        self.pixels, self.labels = images.pixels.transpose(0, 2, 3, 1).copy(), images.labels.tolist()
        self.transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(images.mean, images.std)])

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, i: int):
        image = Image.fromarray(self.pixels[i].squeeze())  # gray ones have two dimensions
        return self.transform(image), self.labels[i]


def rate(epoch: Callable, n: int) -> float:
    """Images a second over one epoch."""
    start = time.perf_counter()
    assert sum(len(x) for x in epoch()) == n
    return n / (time.perf_counter() - start)


def main() -> None:
    torch.set_num_threads(1)  # a core against a core: the DataLoader has no more
    name, images = cifar_images()
    n = len(images)
    batches = Batches(images, BATCH, shuffle=True, normalise=(images.mean, images.std))
    augmented = Batches(images, BATCH, shuffle=True, normalise=(images.mean, images.std), augment="flip,crop=4")
    loader = DataLoader(OneByOne(images), BATCH, shuffle=True, num_workers=0)
    ways = {
        "Batches": lambda: (batch.x for batch in batches.epoch(0)),
        "Batches, flip,crop=4": lambda: (batch.x for batch in augmented.epoch(0)),
        "PIL DataLoader": lambda: (x for x, _ in loader),
    }
    first = next(iter(Batches(images, BATCH, normalise=(images.mean, images.std)).epoch(0))).x
    torch.testing.assert_close(first[0], loader.dataset[0][0])  # the same numbers
    rates: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, epoch in ways.items():
            rates[way].append(rate(epoch, n))
    medians = {way: statistics.median(found) for way, found in rates.items()}
    print(f"{n:,} images of {name}, batch {BATCH}, one core, median of {ROUNDS}")
    for way, median in medians.items():
        print(f"  {way:22} {median:12,.0f} images/s")
    print(f"ratio {medians['Batches'] / medians['PIL DataLoader']:.1f} (target {TARGET})")


if __name__ == "__main__":
    main()
