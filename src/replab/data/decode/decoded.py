"""Decoded: all images of a set as arrays, before they are split, and the Dataset that is made of them."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from replab.data.images import Dataset, Images, moments, statistics, stratified
from replab.data.mapped import placed

# shape → uint8 array to be filled: on disk where the set is cached, in memory otherwise
Allocate = Callable[[tuple[int, ...]], np.ndarray]

TEST_FRACTION = 0.2  # of each class, where the data has no split of its own
UNLABELLED_TEST_FRACTION = 0.1


class Decoded(NamedTuple):
    pixels: np.ndarray  # (N, C, H, W) uint8
    labels: np.ndarray | None  # (N,) int64
    classes: tuple[str, ...]
    train: int | None  # number of training images, which come first; None: the data has no split of its own
    moments: np.ndarray  # (N, 2, C), see images.moments
    skipped: tuple[str, ...] = ()  # files that could not be read, each with the reason
    notices: tuple[str, ...] = ()  # what a person should know of how they were read

    @classmethod
    def of(cls, pixels: np.ndarray, labels: np.ndarray | None, classes: tuple[str, ...], train: int | None) -> Decoded:
        return cls(pixels, labels, classes, train, moments(pixels))


def dataset(
    name: str,
    found: Decoded,
    key: str,
    seed: int,
    constants: tuple[tuple[float, ...], tuple[float, ...]] | None = None,
) -> Dataset:
    """Split, by the seed unless the data has its own split; `constants` are a published mean and std.

    `key` names the decoded content; the fingerprint is of key and split.
    """
    n = len(found.pixels)
    train: slice | np.ndarray
    test: slice | np.ndarray
    if found.train is not None:
        train, test, split = slice(0, found.train), slice(found.train, n), "own split"
    else:
        fraction = UNLABELLED_TEST_FRACTION if found.labels is None else TEST_FRACTION
        test = stratified(found.labels, n, fraction, seed, keep=1)
        train, split = np.setdiff1d(np.arange(n), test), f"{fraction} by {seed}"
    mean, std = constants or statistics(found.moments[train], found.pixels[0, 0].size)
    everything = Images(placed(found.pixels), found.labels, found.classes, mean, std)
    fingerprint = sha256(f"{key} {split}".encode()).hexdigest()
    return Dataset(name, everything.subset(train), everything.subset(test), fingerprint, found.skipped, found.notices)
