"""Claims: an epoch through fit() takes at most 0.5 (cnn) and 0.35 (mlp) of a plain loop over a PIL DataLoader,
and at most 1.05 of a bare loop over the same in-memory batches. 10,000 CIFAR images, batch 128, Adam; medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from input_pipeline import OneByOne, cifar_images
from torch import nn
from torch.utils.data import DataLoader

from replab import backend as backends
from replab.data.images import Images
from replab.models.registry import builder
from replab.progress import Progress
from replab.recipe import Recipe
from replab.tasks.classify import Classify
from replab.train import fit, optimizers, prefers_channels_last, training_batches

ROUNDS, LR = 3, 5e-4
TARGETS = {"cnn": 0.5, "mlp": 0.35}


def plain(name: str, images: Images) -> Callable[[], None]:
    """What people write: DataLoader, forward, backward, step."""
    model = builder(name)(images.spec)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    criterion = nn.CrossEntropyLoss()
    loader = DataLoader(OneByOne(images), 128, shuffle=True, num_workers=0)

    def epoch() -> None:
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()

    return epoch


def bare(name: str, images: Images) -> Callable[[], None]:
    """The same batches, memory layout and optimiser as fit(), and nothing else."""
    model = builder(name)(images.spec)
    if prefers_channels_last(model):
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR, fused=True)
    criterion = nn.CrossEntropyLoss()
    batches = training_batches(model, Recipe(lr=LR, epochs=1), images, "cpu")

    def epoch() -> None:
        model.train()
        for batch in batches.epoch(1):
            optimizer.zero_grad()
            loss = criterion(model(batch.x), batch.y)
            loss.backward()
            optimizer.step()

    return epoch


def ours(name: str, images: Images) -> Callable[[], None]:
    recipe, backend = Recipe(model=name, lr=LR, epochs=10_000), backends.get("torch")
    model = builder(name)(images.spec)
    if prefers_channels_last(model):
        model = model.to(memory_format=torch.channels_last)
    task = Classify(torch, images.spec.classes)
    opts = optimizers(task, model, recipe, backend)
    rows = fit(model, task, recipe, images, opts, backend=backend, device="cpu", progress=Progress(quiet=True))
    return lambda: next(rows) and None


def main() -> None:
    torch.set_num_threads(2)
    name, images = cifar_images()
    print(f"{len(images):,} images of {name}, batch 128, Adam, 2 threads, median of {ROUNDS} interleaved epochs")
    for model, target in TARGETS.items():
        ways = {"plain": plain(model, images), "bare": bare(model, images), "fit": ours(model, images)}
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for round_ in range(ROUNDS + 1):
            for way, epoch in ways.items():
                started = time.perf_counter()
                epoch()
                if round_:  # the first warms up
                    seconds[way].append(time.perf_counter() - started)
        median = {way: statistics.median(found) for way, found in seconds.items()}
        print(f"  {model}: " + ", ".join(f"{way} {s:.2f} s" for way, s in median.items()))
        print(f"  {model}: fit/plain {median['fit'] / median['plain']:.2f} (target {target}),", end=" ")
        print(f"fit/bare {median['fit'] / median['bare']:.2f} (target 1.05)")


if __name__ == "__main__":
    main()
