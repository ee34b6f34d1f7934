"""Claims: a vae epoch through fit() takes at most 0.6 of a plain loop over a PIL DataLoader with the same network;
class scores of all classes together at most half the time of a loop over classes; t-SNE of 10,000 latents under 60 s.
Images of 28x28 as Fashion-MNIST's; the times do not depend on what is in them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from input_pipeline import OneByOne
from torch.utils.data import DataLoader

from replab import backend as backends
from replab import bound, samples
from replab.data.images import Images, ImageSpec
from replab.models.registry import builder
from replab.progress import Progress
from replab.recipe import Recipe
from replab.tasks.reconstruct import Reconstruct
from replab.train import fit, optimizers, prefers_channels_last

ROUNDS, IMAGES, SCORED, SAMPLES = 3, 2_000, 50, 10


def some_images(n: int) -> Images:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (n, 1, 28, 28), dtype=np.uint8)
    return Images(pixels, np.arange(n) % 10, tuple("0123456789"), (0.0,), (1.0,))


def plain(images: Images) -> Callable[[], None]:
    """What people write."""
    model = builder("vae")(images.spec)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(OneByOne(images), 128, shuffle=True, num_workers=0)

    def epoch() -> None:
        model.train()
        for x, _ in loader:
            mean, logvar = model.posterior(model.encoder(x))
            made = model.decode(mean + torch.exp(0.5 * logvar) * torch.randn_like(mean))
            loss = ((made - x) ** 2).sum() - 0.5 * (1 + logvar - mean**2 - logvar.exp()).sum()
            optimizer.zero_grad()
            (loss / len(x)).backward()
            optimizer.step()

    return epoch


def ours(images: Images) -> Callable[[], None]:
    recipe, backend = Recipe(model="vae", lr=1e-3, epochs=10_000, normalise="none"), backends.get("torch")
    model = builder("vae")(images.spec)
    if prefers_channels_last(model):
        model = model.to(memory_format=torch.channels_last)
    task = Reconstruct(torch)
    opts = optimizers(task, model, recipe, backend)
    rows = fit(model, task, recipe, images, opts, backend=backend, device="cpu", progress=Progress(quiet=True))
    return lambda: next(rows) and None


def together() -> Callable[[], None]:
    model, x, eps = scored()
    return lambda: [bound.class_scores(model, a, b, 10) for a, b in zip(x.split(20), eps.split(20))] and None


def one_by_one() -> Callable[[], None]:
    """Every class a pass of its own: the image is encoded again for each, as the published code does."""
    model, x, eps = scored()

    def scores() -> None:
        for label in range(10):
            y = torch.full((len(x),), label)
            for k in range(SAMPLES):
                bound.log_weights(model, x, model.encoder(x), y, eps[:, k : k + 1])

    return scores


def scored() -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    model = builder("cvae")(ImageSpec(1, 28, 28, 10)).eval().to(memory_format=torch.channels_last)
    return model, torch.rand(SCORED, 1, 28, 28), torch.randn(SCORED, SAMPLES, model.latent)


def medians(ways: dict[str, Callable[[], None]]) -> dict[str, float]:
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for round_ in range(ROUNDS + 1):
        for way, work in ways.items():
            started = time.perf_counter()
            work()
            if round_:  # the first warms up
                seconds[way].append(time.perf_counter() - started)
    return {way: statistics.median(found) for way, found in seconds.items()}


def main() -> None:
    torch.set_num_threads(2)
    images = some_images(IMAGES)
    found = medians({"plain": plain(images), "fit": ours(images)})
    print(f"vae, {IMAGES:,} images: plain {found['plain']:.2f} s, fit {found['fit']:.2f} s,", end=" ")
    print(f"ratio {found['fit'] / found['plain']:.2f} (target 0.6)")
    with torch.inference_mode():
        found = medians({"together": together(), "loop": one_by_one()})
    print(f"class scores, {SCORED} images, K = {SAMPLES}: together {found['together']:.2f} s,", end=" ")
    print(f"loop {found['loop']:.2f} s, ratio {found['together'] / found['loop']:.2f} (target 0.5)")
    points = np.random.default_rng(0).standard_normal((10_000, 128)).astype(np.float32)
    started = time.perf_counter()
    samples.embedding(points, 0)
    print(f"t-SNE of 10,000 latents (scikit-learn's Barnes-Hut): {time.perf_counter() - started:.0f} s (target 60)")


if __name__ == "__main__":
    main()
