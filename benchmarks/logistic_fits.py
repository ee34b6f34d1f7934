"""Seconds of 20 logistic fits on 1,500 rows of 1,280 features, as a search of the weight decay makes them.

No claim beyond docs/speed.md. `logistic_fits.py FEATURES.npz` takes x (rows, features) and y of your own; without it,
features are drawn: 256 directions of falling size, mixed and rectified, classes told apart in the first ten.
"""

from __future__ import annotations

import sys
from time import perf_counter, process_time

import numpy as np
import torch

from replab.models.adapt.heads import Logistic
from replab.settings.recipe import Recipe
from replab.tasks.classify import Classify

ROWS, FEATURES, CLASSES, FITS = 1500, 1280, 10, 20


def drawn() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    labels = random.integers(0, CLASSES, ROWS)
    hidden = 3 * random.normal(size=(ROWS, 256)) * np.arange(1, 257) ** -0.5
    hidden[:, :CLASSES] += 1.2 * np.eye(CLASSES)[labels]
    x = np.maximum(hidden @ random.normal(size=(256, FEATURES)) / 4 - 0.3, 0)
    return (x + 0.02 * random.normal(size=x.shape)).astype(np.float32), labels


def main() -> None:
    if len(sys.argv) > 1:
        found = np.load(sys.argv[1])
        x, y = found["x"][:ROWS].astype(np.float32), found["y"][:ROWS].astype(np.int64)
    else:
        x, y = drawn()
    classes, seconds, passes, cpu = int(y.max()) + 1, [], 0.0, process_time()
    for decay in np.geomspace(1e-5, 10.0, FITS):
        recipe = Recipe(head="logistic", freeze=True, weight_decay=float(decay))
        head, began = Logistic(x.shape[1], classes), perf_counter()
        passes += float(head.fit_once(x, y, Classify(torch, classes), recipe)["iterations"])
        seconds.append(perf_counter() - began)
    size = f"{len(x):,} rows of {x.shape[1]:,} features, {torch.get_num_threads()} threads"
    each = f"{passes / FITS:.0f} iterations each, {min(seconds):.2f} to {max(seconds):.2f} s"
    print(f"{FITS} fits of {size}: {sum(seconds):.1f} s ({process_time() - cpu:.1f} s of processors); {each}")


if __name__ == "__main__":
    main()
