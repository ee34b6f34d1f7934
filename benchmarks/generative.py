"""Claims: a vae epoch through fit() takes at most 0.6 of a plain loop over a PIL DataLoader with the same network, and
an epoch of vae or dcgan no more than a bare loop over tensors in memory, the faster of what people write; class scores
of all classes together at most half the time of a loop over classes; t-SNE of 10,000 latents under 60 s.
Images of 28x28 as Fashion-MNIST's; the times do not depend on what is in them. `--against pythae` is for an environment
with that library (`pip install --no-deps pythae imageio` adds it to this one).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from input_pipeline import OneByOne
from side_by_side import measure, ratios, serve
from torch import nn
from torch.utils.data import DataLoader

from replab.backends import backend as backends
from replab.data.images import Dataset, Images, ImageSpec
from replab.models.loader import find
from replab.models.registry import MODELS
from replab.settings.recipe import Recipe
from replab.tasks import bound
from replab.tasks.adversarial import Adversarial
from replab.tasks.reconstruct import Reconstruct
from replab.tasks.tsne import two_dimensions
from replab.training.experiment import Experiment, prefers_channels_last

SAMPLES = 10


def some_images(n: int) -> Images:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (n, 1, 28, 28), dtype=np.uint8)
    return Images(pixels, np.arange(n) % 10, tuple("0123456789"), (0.0,), (1.0,))


def published(model: nn.Module) -> nn.Module:
    """The network as the notes have it: ReLU before the pool, torch's own transposed convolution to the pixels."""
    layers = list(model.encoder)
    for at in range(2, len(layers) - 1, 4):  # convolution, BatchNorm, pool, ReLU
        layers[at], layers[at + 1] = layers[at + 1], layers[at]
    model.encoder = nn.Sequential(*layers)
    model.decoder[6] = nn.ConvTranspose2d(64, model.decoder[6].out_channels, 4, stride=2, padding=1)
    return model


class Tensors:
    """All images as one tensor of floats, in shuffled batches."""

    def __init__(self, images: Images, scale: float = 1.0, shift: float = 0.0):
        self.x = torch.from_numpy(images.pixels).float().div_(255).mul_(scale).add_(shift)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, None]]:
        for index in torch.randperm(len(self.x)).split(128):
            yield self.x[index], None


def plain(batches: Iterable[tuple[torch.Tensor, object]], image: ImageSpec) -> Callable[[], None]:
    """What people write."""
    model = published(MODELS.get("vae")(image))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def epoch() -> None:
        model.train()
        for x, _ in batches:
            mean, logvar = model.posterior(model.encoder(x))
            made = model.decode(mean + torch.exp(0.5 * logvar) * torch.randn_like(mean))
            loss = ((made - x) ** 2).sum() - 0.5 * (1 + logvar - mean**2 - logvar.exp()).sum()
            optimizer.zero_grad()
            (loss / len(x)).backward()
            optimizer.step()

    return epoch


def pythae(images: Images) -> Callable[[], object]:
    """The same network in pythae's own trainer, its progress bar taken off."""
    from pythae.data.datasets import BaseDataset
    from pythae.models import VAE, VAEConfig
    from pythae.models.base.base_utils import ModelOutput
    from pythae.models.nn import BaseDecoder, BaseEncoder
    from pythae.trainers import BaseTrainer, BaseTrainerConfig

    network = published(MODELS.get("vae")(images.spec))

    class Encoder(BaseEncoder):
        def __init__(self) -> None:
            super().__init__()
            self.network, self.latent_dim = nn.ModuleList([network.encoder, network.mean, network.logvar]), 128

        def forward(self, x: torch.Tensor) -> Any:
            mean, logvar = network.posterior(network.encoder(x))
            return ModelOutput(embedding=mean, log_covariance=logvar)

    class Decoder(BaseDecoder):
        def __init__(self) -> None:
            super().__init__()
            self.network = nn.ModuleList([network.expand, network.decoder])

        def forward(self, z: torch.Tensor) -> Any:
            return ModelOutput(reconstruction=network.decode(z))

    whole = VAE(VAEConfig(input_dim=images.pixels.shape[1:], latent_dim=128), Encoder(), Decoder())
    x, y = Tensors(images).x, torch.from_numpy(images.labels)
    with tempfile.TemporaryDirectory() as folder:
        settings = BaseTrainerConfig(output_dir=folder, per_device_train_batch_size=128, learning_rate=1e-3)
        trainer = BaseTrainer(whole, BaseDataset(x, y), training_config=settings)
        trainer.prepare_training()
    trainer.callback_handler.callbacks = []
    return lambda: trainer.train_step(1)


def adversaries(images: Images) -> Callable[[], None]:
    """What people write: PyTorch's DCGAN tutorial, over tensors in memory."""
    batches, model = Tensors(images, 2.0, -1.0), MODELS.get("dcgan")(images.spec)
    critic, generator = (
        torch.optim.Adam(part.parameters(), lr=2e-4, betas=(0.5, 0.999)) for part in (model.critic, model.generator)
    )
    loss = nn.BCEWithLogitsLoss()

    def epoch() -> None:
        model.train()
        for x, _ in batches:
            ones, zeros = torch.ones(len(x)), torch.zeros(len(x))
            critic.zero_grad()
            fakes = model.generate(torch.randn(len(x), model.latent))
            (loss(model.critic(x)[0], ones) + loss(model.critic(fakes.detach())[0], zeros)).backward()
            critic.step()
            generator.zero_grad()
            loss(model.critic(fakes)[0], ones).backward()
            generator.step()

    return epoch


def ours(name: str, images: Images, task: Any, **settings: Any) -> Callable[[], None]:
    recipe, backend = Recipe(model=name, epochs=10_000, **settings), backends.get("torch")
    model = MODELS.get(name)(images.spec)
    if prefers_channels_last(model):
        model = model.to(memory_format=torch.channels_last)
    data, source = Dataset("some", images, images, ""), find(recipe.model, backend)
    experiment = Experiment(recipe, data, source, backend, "cpu", task)
    rows = experiment.fit(model)
    return lambda: next(rows) and None


def together(n: int) -> Callable[[], object]:
    """As `score_classes` does it."""
    backends.get("torch")
    model, x, eps = scored(n)
    model = model.to(memory_format=torch.channels_last)
    step, decode = max(1, bound.AT_ONCE // (10 * SAMPLES)), model.fast_decode()
    return lambda: [bound.class_scores(model, decode, a, b, 10) for a, b in zip(x.split(step), eps.split(step))]


def by_class(n: int) -> Callable[[], None]:
    """What people write: one pass of the published model per class; as many images at once as in the other way."""
    model, x, eps = scored(n)
    model = published(model)
    step = max(1, bound.AT_ONCE // SAMPLES)

    def scores() -> None:
        for label in range(10):
            for a, b in zip(x.split(step), eps.split(step)):
                bound.log_weights(model, model.decode, a, model.encoder(a), torch.full((len(a),), label), b)

    return scores


def scored(n: int) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    model = MODELS.get("cvae")(ImageSpec(1, 28, 28, 10)).eval()
    return model, torch.rand(n, 1, 28, 28), torch.randn(n, SAMPLES, model.latent)


def embedded(n: int) -> None:
    points = np.random.default_rng(0).standard_normal((n, 128)).astype(np.float32)
    started = time.perf_counter()
    two_dimensions(points, 0)
    print(f"t-SNE of {n:,} latents (scikit-learn's Barnes-Hut): {time.perf_counter() - started:.0f} s (target 60)")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("parts", nargs="*", default=["epoch", "gan", "scores", "tsne"], help="epoch, gan, scores, tsne")
    asked.add_argument(
        "--against", action="append", choices=("plain", "bare", "pythae"), help="of vae; the first two, unless given"
    )
    asked.add_argument("--images", type=int, default=10_000, help="of a vae epoch; the published set has 60,000")
    asked.add_argument("--scored", type=int, default=200, help="images whose classes are scored")
    asked.add_argument("--latents", type=int, default=10_000, help="points of the t-SNE")
    asked.add_argument("--rounds", type=int, default=3)
    given = asked.parse_args()
    given.against = given.against or ["plain", "bare"]
    if "epoch" in given.parts:
        print(f"an epoch of vae, {given.images:,} images, batch 128, Adam, 2 threads")
        found = measure(__file__, [*given.against, "fit"], [str(given.images)], given.rounds)
        ratios("vae", found, "fit", {side: {"plain": 0.6, "bare": 1.0, "pythae": 1.0}[side] for side in given.against})
    if "gan" in given.parts:
        print(f"an epoch of dcgan, {given.images:,} images, batch 128, Adam, 2 threads")
        found = measure(__file__, ["gan bare", "gan fit"], [str(given.images)], given.rounds)
        ratios("dcgan", found, "gan fit", {"gan bare": 1.0})
    if "scores" in given.parts:
        print(f"class scores of {given.scored} images, K = {SAMPLES}, 2 threads")
        found = measure(__file__, ["by class", "together"], [str(given.scored)], given.rounds)
        ratios("cvae", found, "together", {"by class": 0.5})
    if "tsne" in given.parts:
        embedded(given.latents)


SIDES = {
    "plain": lambda n: plain(DataLoader(OneByOne(some_images(n)), 128, shuffle=True), some_images(1).spec),
    "bare": lambda n: plain(Tensors(some_images(n)), some_images(1).spec),
    "fit": lambda n: ours("vae", some_images(n), Reconstruct(torch), lr=1e-3, normalise="none"),
    "pythae": lambda n: pythae(some_images(n)),
    "gan bare": lambda n: adversaries(some_images(n)),
    "gan fit": lambda n: ours("dcgan", some_images(n), Adversarial(torch), lr=2e-4, normalise="half"),
    "by class": by_class,
    "together": together,
}

if __name__ == "__main__":
    torch.set_num_threads(2)
    if sys.argv[1:] and sys.argv[1] in SIDES:
        with torch.set_grad_enabled(sys.argv[1] not in ("by class", "together")):
            serve(SIDES[sys.argv[1]](int(sys.argv[2])))
    else:
        main()
