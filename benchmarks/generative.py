"""Claims: a vae epoch through fit() takes at most 0.6 of a plain loop over a PIL DataLoader with the same network;
class scores of all classes together at most half the time of a loop over classes; t-SNE of 10,000 latents under 60 s.
Images of 28x28 as Fashion-MNIST's; the times do not depend on what is in them.
"""

from __future__ import annotations

import argparse
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

SAMPLES = 10


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


def together(n: int) -> Callable[[], None]:
    model, x, eps = scored(n)
    step = max(1, bound.AT_ONCE // (10 * SAMPLES))
    return lambda: [bound.class_scores(model, a, b, 10) for a, b in zip(x.split(step), eps.split(step))] and None


def by_class(n: int) -> Callable[[], None]:
    """A pass a class: as many decoded at once as in the other way, the image encoded again for each class."""
    model, x, eps = scored(n)
    step = max(1, bound.AT_ONCE // SAMPLES)

    def scores() -> None:
        for label in range(10):
            for a, b in zip(x.split(step), eps.split(step)):
                bound.log_weights(model, a, model.encoder(a), torch.full((len(a),), label), b)

    return scores


def by_class_and_sample(n: int) -> Callable[[], None]:
    """What the published code would do K times over: model(x, y) for every class and sample."""
    model, x, eps = scored(n)

    def scores() -> None:
        for label in range(10):
            for k in range(SAMPLES):
                bound.log_weights(model, x, model.encoder(x), torch.full((len(x),), label), eps[:, k : k + 1])

    return scores


def scored(n: int) -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    model = builder("cvae")(ImageSpec(1, 28, 28, 10)).eval().to(memory_format=torch.channels_last)
    return model, torch.rand(n, 1, 28, 28), torch.randn(n, SAMPLES, model.latent)


def medians(ways: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for round_ in range(rounds + 1):
        for way, work in ways.items():
            started = time.perf_counter()
            work()
            if round_:  # the first warms up
                seconds[way].append(time.perf_counter() - started)
    return {way: statistics.median(found) for way, found in seconds.items()}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("parts", nargs="*", default=["epoch", "scores", "tsne"], help="epoch, scores, tsne")
    asked.add_argument("--images", type=int, default=2_000, help="of a vae epoch")
    asked.add_argument("--scored", type=int, default=50, help="images whose classes are scored")
    asked.add_argument("--latents", type=int, default=10_000, help="points of the t-SNE")
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--threads", type=int, default=2)
    given = asked.parse_args()
    torch.set_num_threads(given.threads)
    if "epoch" in given.parts:
        images = some_images(given.images)
        found = medians({"plain": plain(images), "fit": ours(images)}, given.rounds)
        print(f"vae, {given.images:,} images: plain {found['plain']:.2f} s, fit {found['fit']:.2f} s,", end=" ")
        print(f"ratio {found['fit'] / found['plain']:.2f} (target 0.6)")
    if "scores" in given.parts:
        n = given.scored
        ways = {"together": together(n), "by class": by_class(n), "by class and sample": by_class_and_sample(n)}
        with torch.inference_mode():
            found = medians(ways, given.rounds)
        print(f"class scores, {n} images, K = {SAMPLES}: " + ", ".join(f"{k} {v:.2f} s" for k, v in found.items()))
        for way in list(ways)[1:]:
            print(f"  together against {way}: ratio {found['together'] / found[way]:.2f} (target 0.5)")
    if "tsne" in given.parts:
        points = np.random.default_rng(0).standard_normal((given.latents, 128)).astype(np.float32)
        started = time.perf_counter()
        samples.embedding(points, 0)
        seconds = time.perf_counter() - started
        # Barnes-Hut of a library that is needed anyway; nothing faster is worth another dependency
        print(f"t-SNE of {given.latents:,} latents (scikit-learn's Barnes-Hut): {seconds:.0f} s (target 60)")


if __name__ == "__main__":
    main()
