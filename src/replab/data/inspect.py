"""What a data set is like, before anything is trained on it: sizes, balance, duplicates, images with their labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replab.data.images import Dataset, Images, moments, statistics


@dataclass(frozen=True)
class Look:
    """Plain facts of a data set."""

    name: str
    shape: tuple[int, int, int]
    train: int
    test: int
    counts: dict[str, tuple[int, int]]  # class → training and test images
    mean: tuple[float, ...]  # of the training images as they are, in [0, 1]
    std: tuple[float, ...]
    shared: int  # test images that are, to the last pixel, also training images
    repeated: int  # training images that are a copy of an earlier one

    def lines(self) -> list[tuple[str, str]]:
        def numbers(values: tuple[float, ...]) -> str:
            return ", ".join(f"{v:.4f}" for v in values)

        sizes = [n for n, _ in self.counts.values()]
        balance = f"{min(sizes):,} to {max(sizes):,} training images per class" if sizes else "no labels"
        return [
            ("data", self.name),
            ("images", f"{self.train:,} training, {self.test:,} test, {'x'.join(map(str, self.shape))}"),
            ("classes", f"{len(self.counts)}: {', '.join(self.counts)}" if self.counts else "none: unlabelled"),
            ("balance", balance),
            ("mean", numbers(self.mean)),
            ("std", numbers(self.std)),
            ("in train and test", f"{self.shared:,} test images are also training images, to the last pixel"),
            ("repeated", f"{self.repeated:,} training images are copies of another training image"),
        ]


def look(data: Dataset) -> Look:
    train, test = data.train, data.test
    mean, std = statistics(moments(train.pixels), train.spec.height * train.spec.width)
    counts = {}
    if train.labels is not None and test.labels is not None:
        both = [np.bincount(labels, minlength=len(train.classes)) for labels in (train.labels, test.labels)]
        counts = {name: (int(a), int(b)) for name, a, b in zip(train.classes, *both)}
    return Look(
        data.name,
        tuple(train.pixels.shape[1:]),
        len(train),
        len(test),
        counts,
        mean,
        std,
        shared_images(train, test),
        len(train) - len(set(fingerprints(train))),
    )


def compare_halves(data: Dataset) -> dict[str, float]:
    """What an audit wants to know of training and test images together, noted when a run begins."""
    train, test = data.train, data.test
    # drawn: the first ones may be of one class
    (mean, std), (tested, _) = (brightness(np.asarray(i.take(2000, seed=0).pixels)) for i in (train, test))
    return {
        "shared_images": shared_images(train, test),
        "train_pixel_mean": mean,
        "test_pixel_mean": tested,
        "train_pixel_std": std,
    }


def brightness(pixels: np.ndarray) -> tuple[float, float]:
    """(mean, standard deviation) of bytes, from how often each value is there: NumPy's own takes 8 bytes per pixel."""
    counts = sum((np.bincount(one.ravel(), minlength=256) for one in pixels), start=np.zeros(256, np.int64))
    values = np.arange(256)
    mean = float(counts @ values / counts.sum())
    return mean, float(np.sqrt(counts @ (values - mean) ** 2 / counts.sum()))


def shared_images(train: Images, test: Images) -> int:
    """How many test images are also training images, to the last pixel."""
    known = set(fingerprints(train))
    return sum(one in known for one in fingerprints(test))


def fingerprints(images: Images) -> list[bytes]:
    """16 bytes per image: equal images have equal ones; collisions are negligible."""
    from hashlib import blake2b

    return [blake2b(pixels.tobytes(), digest_size=16).digest() for pixels in images.pixels]


def sample(images: Images, n: int, seed: int) -> tuple[np.ndarray, list[str]]:
    """n random images and their class names (none when unlabelled)."""
    index = np.random.default_rng(seed).permutation(len(images))[:n]
    captions = [] if images.labels is None else [images.classes[label] for label in images.labels[index]]
    return images.pixels[index], captions


def copies(images: Images, n: int) -> np.ndarray:
    """Numbers of at most n images that are a copy of an earlier one, each after the one that it copies."""
    first: dict[bytes, int] = {}
    found: list[int] = []
    for number, mark in enumerate(fingerprints(images)):
        if mark in first:
            found += [first[mark], number]
        first.setdefault(mark, number)
    return np.array(list(dict.fromkeys(found))[:n], int)
