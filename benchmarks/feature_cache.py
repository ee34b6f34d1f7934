"""Claim: search and training of a frozen ViT's head take at most 1/20 of the time with features computed once, and end
with the same head. A scaled-down ViT with random weights on random images, 5 trials; both sides the same recipe.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from replab import api
from replab.settings.recipe import Recipe

TARGET = 1 / 20


def images(folder: Path, count: int, side: int) -> None:
    """Ten classes of noise, each with a brightness of its own: something to learn, nothing to download."""
    rng = np.random.default_rng(0)
    for half, n in (("train", count), ("test", max(20, count // 5))):
        for i in range(n):
            path = folder / half / f"c{i % 10}" / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = rng.integers(0, 128, (side, side, 3)) + 12 * (i % 10)
            Image.fromarray(pixels.astype(np.uint8)).save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1200)
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=12)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        os.environ["REPLAB_CACHE"] = f"{place}/cache"
        images(Path(place, "data"), asked.images, asked.side)
        params = {"width": asked.width, "depth": asked.depth, "heads": 4, "ffn": 2 * asked.width}
        recipe = Recipe(model="nanovit", data=f"{place}/data", params=params, freeze=True)
        search = {"trials": 5, "max_epochs": asked.epochs, "patience": asked.epochs, "prune": False, "fraction": 1.0}
        recipe = recipe.replace(search=search)
        seconds, runs = {}, {}
        for cached in (True, False):
            started = time.perf_counter()
            wanted = recipe.replace(feature_cache=cached)
            runs[cached] = api.run(recipe=wanted, runs=f"{place}/runs-{cached}", quiet=True)
            seconds[cached] = time.perf_counter() - started
        heads = [run.record.weights()["head.weight"] for run in runs.values()]
        apart = float(np.abs(heads[0] - heads[1]).max() / np.abs(heads[1]).max())
        stages = {name: sum(runs[name].seconds.values()) for name in runs}
        ratio = stages[True] / stages[False]
        print(f"  cached {seconds[True]:.1f} s, uncached {seconds[False]:.1f} s, with report and start")
        print(f"  features, search, training, evaluation: {stages[True]:.1f} s against {stages[False]:.1f} s")
        print(f"  the same rate and epochs: {len({(r.chosen.lr, r.chosen.epochs) for r in runs.values()}) == 1}")
        print(f"  ratio {ratio:.4f} (target {TARGET}), heads differ by {apart:.1e} of their largest weight")


if __name__ == "__main__":
    main()
