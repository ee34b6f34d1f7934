"""digits: scikit-learn's 1,797 handwritten digits of 8x8. The default: always there, needs no network.

The test images are a fixed 20 % of each class, whatever the seed, so that results compare across seeds.
"""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from replab.data.images import Dataset, Images, moments, statistics
from replab.data.sources import source

SPLIT_SEED = 0


@source("digits", "8x8 gray handwritten digits, 1,438 + 359 images, 10 classes; always there")
def digits(*, size: int | None, seed: int) -> Dataset:
    from sklearn.datasets import load_digits

    from replab.data.pictures import resized

    raw = load_digits()
    # (N, 64), whole numbers 0..16 → (N, 1, 8, 8), 0..255
    pixels = np.round(raw.data.reshape(-1, 1, 8, 8) * (255 / 16)).astype(np.uint8)
    if size is not None:
        pixels = resized(pixels, size)
    labels = raw.target.astype(np.int64)
    classes = tuple(str(c) for c in range(10))
    everything = Images(pixels, labels, classes, *statistics(moments(pixels), pixels[0, 0].size))
    train, test = everything.split(0.2, SPLIT_SEED)
    mean, std = statistics(moments(train.pixels), pixels[0, 0].size)
    content = sha256(pixels.tobytes() + labels.tobytes() + f"split {SPLIT_SEED}".encode()).hexdigest()
    return Dataset(
        "digits",
        Images(train.pixels, train.labels, classes, mean, std),
        Images(test.pixels, test.labels, classes, mean, std),
        content,
    )
