"""Images: uint8 pixels in memory with their labels. What every data source makes and everything else reads."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from replab.errors import DataError


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
    """A set of images of one size. Subsets are views where NumPy allows it; nothing here changes the pixels."""

    pixels: np.ndarray  # (N, C, H, W) uint8
    labels: np.ndarray | None  # (N,) int64, or None for unlabelled images
    classes: tuple[str, ...]
    mean: tuple[float, ...]  # a channel, of pixels scaled to [0, 1]; of the training images
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.pixels.ndim != 4 or self.pixels.dtype != np.uint8:
            raise DataError(f"pixels must be uint8 (N, C, H, W), got {self.pixels.dtype} {self.pixels.shape}")
        if self.labels is not None and len(self.labels) != len(self.pixels):
            raise DataError(f"{len(self.pixels)} images but {len(self.labels)} labels: there must be one each")

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def spec(self) -> ImageSpec:
        return ImageSpec(*self.pixels.shape[1:], classes=len(self.classes))

    def subset(self, index: np.ndarray | slice) -> Images:
        labels = None if self.labels is None else self.labels[index]
        return replace(self, pixels=self.pixels[index], labels=labels)

    def split(self, fraction: float, seed: int) -> tuple[Images, Images]:
        """(rest, part): part has about `fraction` of each class, at least one image, drawn by seed."""
        part = stratified(self.labels, len(self), fraction, seed)
        rest = np.setdiff1d(np.arange(len(self)), part)
        return self.subset(rest), self.subset(part)

    def take(self, n: int, seed: int) -> Images:
        """At most n images, stratified, drawn by seed."""
        if n >= len(self):
            return self
        return self.subset(stratified(self.labels, len(self), n / len(self), seed))


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test images under one name. `fingerprint` names the content, so that caches are never stale."""

    name: str
    train: Images
    test: Images
    fingerprint: str

    @property
    def spec(self) -> ImageSpec:
        return self.train.spec


def stratified(labels: np.ndarray | None, n: int, fraction: float, seed: int) -> np.ndarray:
    """Sorted indices of about `fraction` of n images, the same fraction of each class, at least one a class."""
    rng = np.random.default_rng(seed)
    groups = [np.arange(n)] if labels is None else [np.flatnonzero(labels == c) for c in np.unique(labels)]
    chosen = [rng.permutation(g)[: max(1, round(fraction * len(g)))] for g in groups if len(g)]
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, np.int64)
