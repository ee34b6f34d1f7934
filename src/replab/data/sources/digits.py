"""8x8 gray handwritten digits, 1,438 + 359 images, 10 classes; always there

They are scikit-learn's 1,797. The default data set: it needs no network.

The test images are a fixed 20 % of each class, whatever the seed, so that results compare across seeds.
"""

from __future__ import annotations

from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from replab.data.decode.decoded import Decoded, dataset
from replab.data.images import Dataset
from replab.data.source import source

SPLIT_SEED = 0


@source(shape=(1, 8, 8), classes=10)
def digits(*, size: int | None, seed: int) -> Dataset:
    from replab.data.decode.pictures import resized

    raw = np.loadtxt(_file(), delimiter=",", dtype=np.int64)  # (N, 65): 64 whole numbers 0..16, then the class
    pixels = np.round(raw[:, :64].reshape(-1, 1, 8, 8) * (255 / 16)).astype(np.uint8)
    if size is not None:
        pixels = resized(pixels, size)
    labels = raw[:, 64].copy()
    classes = tuple(str(digit) for digit in range(10))
    key = sha256(pixels.tobytes() + labels.tobytes()).hexdigest()
    return dataset("digits", Decoded.of(pixels, labels, classes, None), key, SPLIT_SEED)


def _file() -> Path:
    """scikit-learn's own, found without importing scikit-learn: that takes two seconds."""
    spec = find_spec("sklearn")
    assert spec is not None  # a dependency
    assert spec.origin is not None
    return Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz"
