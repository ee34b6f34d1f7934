"""Milliseconds of one training step of each family, batches of 128, smallest of four, and how busy that is.

No claim: the tables of docs/speed.md. Busy is the step's rate of operations (six per multiplication of the forward
pass) as a share of the rate of one large matrix product, the most that this processor gives. `--bfloat16` times that
too, which pays where the processor computes in it (avx512_bf16, amx); `--compile` times the compiled model.

python benchmarks/engine.py [NAME ...] [--bfloat16] [--compile]
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
import torch

from replab.backends import backend as backends
from replab.data.images import Dataset, Images
from replab.explain.structure.trace import trace
from replab.models.adapt import freezing
from replab.settings.recipe import Recipe
from replab.training.loop import train_step
from replab.training.prepare import prepare

FAMILIES = {"mlp": 3, "cnn": 3, "resnet9": 3, "resnet18": 3, "nanovit": 3, "patch-lstm": 3, "airbench94": 3,
            "vae": 1, "dcgan": 1}  # name → channels of its images of 32x32  # fmt: skip
BATCH, STEPS = 128, 4
SIDE = 2048  # of the large product


def step(name: str, precision: str, compiled: bool = False) -> tuple[float, float]:
    """(Seconds, operations) of a step; no operations where one call of the model is not the whole step."""
    channels = FAMILIES[name]
    pixels = np.random.default_rng(0).integers(0, 256, (BATCH * (STEPS + 1), channels, 32, 32), dtype=np.uint8)
    mean, std = (0.5,) * channels, (0.25,) * channels
    images = Images(pixels, np.arange(len(pixels)) % 10, tuple("0123456789"), mean, std)
    asked = Recipe(model=name, lr=1e-3, epochs=1, batch_size=BATCH, precision=precision, compile=compiled)
    ready = prepare(asked, data=Dataset("random", images, images, "random"))
    model, recipe = ready.model(), ready.recipe
    counted = ready.task.objective is not None and not compiled
    operations = 6.0 * trace(model, images.spec).macs * BATCH if counted else 0.0
    state, seconds = ready.state(model), []
    freezing.train_mode(model)
    for batch in ready.batches(images, model, shuffled=True).epoch(1):
        started = perf_counter()
        train_step(ready, model, batch, state.optimizers, recipe, 0, 1)
        seconds.append(perf_counter() - started)
    return min(seconds[1:]), operations


def product_rate() -> float:
    """Operations per second of one large product, the best of ten."""
    a, b = torch.randn(2, SIDE, SIDE)
    seconds = []
    for _ in range(10):
        started = perf_counter()
        a @ b
        seconds.append(perf_counter() - started)
    return 2.0 * SIDE**3 / min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(FAMILIES), metavar="NAME")
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--compile", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(2)
    backends.get("torch")  # what multiplies matrices in a run
    best = product_rate()
    print(f"2 threads; a large product: {best / 1e9:.0f} billion operations per second")
    for name in given.names:
        seconds, operations = step(name, "float32")
        line = f"{name:12} {1e3 * seconds:8.1f} ms"
        line += f"  busy {operations / seconds / best:.2f}" if operations else ""
        if given.bfloat16:
            half, _ = step(name, "bfloat16")
            line += f"  bfloat16 {1e3 * half:8.1f} ms, {half / seconds:.2f}"
        if given.compile:
            compiled, _ = step(name, "float32", compiled=True)
            line += f"  compiled {1e3 * compiled:8.1f} ms, {compiled / seconds:.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
