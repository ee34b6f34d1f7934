"""digits: scikit-learn's 1,797 handwritten digits of 8x8. The default: always there, needs no network.

The test images are a fixed 20 % of each class, whatever the seed, so that results compare across seeds.
"""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from replab.data.decoded import Decoded, dataset
from replab.data.images import Dataset
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
    classes = tuple(str(digit) for digit in range(10))
    key = sha256(pixels.tobytes() + labels.tobytes()).hexdigest()
    return dataset("digits", Decoded.of(pixels, labels, classes, None), key, SPLIT_SEED)
