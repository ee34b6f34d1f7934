"""A training set plus one fixed augmented copy of each image, as numpy-lab trained on: twice the images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from replab.data.images import Images, moments, statistics
from replab.data.mapped import BLOCK, placed, room


def with_augmented_copy(images: Images, augment: str | Sequence, seed: int) -> Images:
    """Originals first, then their copies in the same order. mean and std are those of all images together."""
    from replab.data.batches import Batches

    n = len(images)
    pixels = room((2 * n, *images.pixels.shape[1:]))
    for start in range(0, n, BLOCK):
        pixels[start : min(n, start + BLOCK)] = images.pixels[start : start + BLOCK]
    for batch in Batches(images, 1024, seed=seed, augment=augment).epoch(0):
        copies = batch.x.mul(255).round_().clamp_(0, 255).byte()
        pixels[n + batch.index.numpy()] = copies.numpy()
    labels = None if images.labels is None else np.concatenate([images.labels, images.labels])
    mean, std = statistics(moments(pixels), images.spec.height * images.spec.width)
    return replace(images, pixels=placed(pixels), labels=labels, mean=mean, std=std)
