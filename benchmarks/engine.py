"""Milliseconds of one training step of each family, batches of 128, in float32 and in bfloat16; smallest of four.

No claim: the table of docs/speed.md. bfloat16 pays where the processor computes in it (avx512_bf16, amx).
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np
import torch

from replab.data.images import Dataset, Images
from replab.models.adapt import freezing
from replab.settings.recipe import Recipe
from replab.training.loop import train_step
from replab.training.prepare import prepare

FAMILIES = {"mlp": 3, "cnn": 3, "resnet9": 3, "resnet18": 3, "nanovit": 3, "patch-lstm": 3, "airbench94": 3,
            "vae": 1, "dcgan": 1}  # name → channels of its images of 32x32  # fmt: skip
STEPS = 4


def step_seconds(name: str, precision: str) -> float:
    channels = FAMILIES[name]
    pixels = np.random.default_rng(0).integers(0, 256, (128 * (STEPS + 1), channels, 32, 32), dtype=np.uint8)
    mean, std = (0.5,) * channels, (0.25,) * channels
    images = Images(pixels, np.arange(len(pixels)) % 10, tuple("0123456789"), mean, std)
    asked = Recipe(model=name, lr=1e-3, epochs=1, batch_size=128, precision=precision)
    ready = prepare(asked, data=Dataset("random", images, images, "random"))
    model, recipe = ready.model(), ready.recipe
    state, seconds = ready.state(model), []
    freezing.train_mode(model)
    for batch in ready.batches(images, model, shuffled=True).epoch(1):
        started = perf_counter()
        train_step(ready, model, batch, state.optimizers, recipe, 0, 1)
        seconds.append(perf_counter() - started)
    return min(seconds[1:])


def main() -> None:
    print("family        float32  bfloat16  (ms per step of 128 images, 2 threads)")
    for name in sys.argv[1:] or FAMILIES:
        full, half = (step_seconds(name, precision) * 1e3 for precision in ("float32", "bfloat16"))
        print(f"{name:12} {full:8.1f}  {half:8.1f}  {half / full:.2f}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(2)
    main()
