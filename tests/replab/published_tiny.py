"""The published data sets' names over a few random images of the right shape: what rows are tried on."""

from __future__ import annotations

import numpy as np

from replab.data.images import Dataset, Images

SHAPES = {
    "mnist": (1, 28, 28),
    "fashion-mnist": (1, 28, 28),
    "cifar10": (3, 32, 32),
    "cifar10-jpeg": (3, 32, 32),
    "anime-faces": (3, 64, 64),
}


def images(n: int, shape: tuple[int, int, int], seed: int) -> Images:
    """Each class has a stripe of its own, so that a little can be learned."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 10
    pixels = rng.integers(0, 128, (n, *shape), dtype=np.uint8)
    for pixel, label in zip(pixels, labels):
        pixel[:, 2 * label : 2 * label + 3] += 120
    channels = shape[0]
    names = tuple(f"class{i}" for i in range(10))
    return Images(pixels, labels.astype(np.int64), names, (0.5,) * channels, (0.25,) * channels)


def load(name: str, *, size: int | None = None, seed: int = 0, limit: int | None = None, **picked) -> Dataset:
    """In the place of replab.data.load.load."""
    shape = SHAPES[name]
    return Dataset(name, images(12, shape, 1), images(12, shape, 2), f"tiny {name}")
