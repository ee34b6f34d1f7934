"""Images: uint8 pixels, in memory or mapped, with their labels. What every source makes and everything else reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from replab.data.mapped import rows
from replab.errors import DataError, UnknownName
from replab.settings.words import count


@dataclass(frozen=True)
class ImageSpec:
    """What a model must fit: the shape of one image and the number of classes (0: no labels)."""

    channels: int
    height: int
    width: int
    classes: int

    def __str__(self) -> str:
        return f"{self.channels}x{self.height}x{self.width}, {self.classes} classes"


@dataclass(frozen=True, eq=False)
class Images:
    """Images of one size. Subsets are views where NumPy allows it; nothing here changes the pixels."""

    pixels: Any  # (N, C, H, W) uint8: an array, or Mapped where the set is larger than memory
    labels: np.ndarray | None  # (N,) int64, or None for unlabelled images
    classes: tuple[str, ...]
    mean: tuple[float, ...]  # per channel, of the training images' pixels scaled to [0, 1]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.pixels.ndim != 4 or self.pixels.dtype != np.uint8:
            raise DataError(f"pixels must be uint8 (N, C, H, W), got {self.pixels.dtype} {self.pixels.shape}")
        if self.labels is not None and len(self.labels) != len(self.pixels):
            raise DataError(f"{len(self.pixels)} images but {len(self.labels)} labels: each image needs one label")

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def spec(self) -> ImageSpec:
        channels, height, width = self.pixels.shape[1:]
        return ImageSpec(channels, height, width, len(self.classes))

    def subset(self, index: np.ndarray | slice) -> Images:
        labels = None if self.labels is None else self.labels[index]
        return replace(self, pixels=rows(self.pixels, index), labels=labels)

    def split(self, fraction: float, seed: int) -> tuple[Images, Images]:
        """(rest, part): part has `fraction` of each class to within one, at least one image, drawn by seed.

        rest keeps at least one image of each class, so a class of one image is not in part.
        """
        part = stratified(self.labels, len(self), fraction, seed, keep=1)
        rest = np.setdiff1d(np.arange(len(self)), part)
        return self.subset(rest), self.subset(part)

    def take(self, n: int, seed: int) -> Images:
        """n images, or all if there are fewer; stratified, at least one per class, drawn by seed."""
        if n >= len(self):
            return self
        return self.subset(stratified(self.labels, len(self), n / len(self), seed))

    def of_classes(self, wanted: Sequence[str]) -> Images:
        """The images of some classes, given by name or index; the classes are renumbered in that order."""
        if self.labels is None:
            raise DataError("--classes needs labelled images, and these have no labels; leave it out")
        places = []
        for word in wanted:
            by_place = word.isdigit() and int(word) < len(self.classes)
            if word not in self.classes and not by_place:
                raise UnknownName("class", word, self.classes, "known: " + ", ".join(self.classes))
            places.append(self.classes.index(word) if word in self.classes else int(word))
        if len(set(places)) != len(places) or len(places) < 2:
            raise DataError(f"--classes needs at least two different classes, got {', '.join(wanted)}")
        kept = np.flatnonzero(np.isin(self.labels, places))
        numbers = {place: i for i, place in enumerate(places)}
        labels = np.array([numbers[int(c)] for c in self.labels[kept]], np.int64)
        return replace(self.subset(kept), labels=labels, classes=tuple(self.classes[place] for place in places))

    def few(self, each: int, seed: int) -> Images:
        """At most this many of each class, drawn by seed."""
        if self.labels is None:
            raise DataError("--per-class needs labelled images, and these have no labels; use --limit")
        rng = np.random.default_rng(seed)
        drawn = [rng.permutation(np.flatnonzero(self.labels == c))[:each] for c in range(len(self.classes))]
        return self.subset(np.sort(np.concatenate(drawn)))


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test images under one name. The same fingerprint: the same images."""

    name: str
    train: Images
    test: Images
    fingerprint: str
    skipped: tuple[str, ...] = ()  # files that could not be read and are left out, each with the reason
    notices: tuple[str, ...] = ()  # what a person should know of how the images were read

    @property
    def spec(self) -> ImageSpec:
        return self.train.spec

    def remarks(self) -> tuple[str, ...]:
        """One line each, to be said before a run."""
        if not self.skipped:
            return self.notices
        return (*self.notices, f"data: {count(len(self.skipped), 'broken file')} skipped, {self.skipped[0]} first")


def stratified(labels: np.ndarray | None, n: int, fraction: float, seed: int, keep: int = 0) -> np.ndarray:
    """Sorted indices of round(fraction · n) of n images: each class in proportion, to within one, at least one.

    `keep` images of each class are never chosen: with 1, a class of a single image stays out.
    """
    rng = np.random.default_rng(seed)
    groups = [np.arange(n)] if labels is None else [np.flatnonzero(labels == c) for c in np.unique(labels)]
    shares = np.array([fraction * len(group) for group in groups])
    counts = np.floor(shares + 1e-9).astype(int)
    # what rounding down left over goes to the classes that lost most by it
    missing = max(0, round(fraction * n) - int(counts.sum()))
    counts[np.argsort(counts - shares, kind="stable")[:missing]] += 1
    chosen = [
        rng.permutation(group)[: min(max(1, count), len(group) - keep)]
        for group, count in zip(groups, counts)
        if len(group)
    ]
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, np.int64)


def moments(pixels: Any) -> np.ndarray:
    """(N, 2, C) int64: each image's sum of pixels and of squares; any subset's statistics follow."""
    squares = np.arange(256, dtype=np.uint32) ** 2
    found = np.empty((len(pixels), 2, pixels.shape[1]), np.int64)
    for start in range(0, len(pixels), 256):  # in blocks: the squares of a whole set would not fit in memory
        block = pixels[start : start + 256]
        found[start : start + 256, 0] = block.sum(axis=(2, 3), dtype=np.int64)
        found[start : start + 256, 1] = squares[block].sum(axis=(2, 3), dtype=np.int64)
    return found


def statistics(found: np.ndarray, area: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """(mean, std) per channel, of pixels scaled to [0, 1], from the moments of images of `area` pixels.

    A channel that is the same everywhere has std 1/255, one gray step, so that dividing by it stays possible.
    """
    count = max(1, len(found) * area)
    total, squares = found.sum(axis=0) / count  # (C,) each
    std = np.sqrt(np.maximum(squares - total**2, 0)) / 255
    mean = total / 255
    return tuple(float(m) for m in mean), tuple(float(max(s, 1 / 255)) for s in std)
