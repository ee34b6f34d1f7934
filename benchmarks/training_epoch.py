"""Claims: an epoch through fit() takes at most 0.5 (cnn) and 0.35 (mlp) of a plain loop over a PIL DataLoader,
and at most 1.05 of a bare loop over the same in-memory batches. 10,000 CIFAR images, batch 128, Adam; medians.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch
from input_pipeline import OneByOne, cifar_images
from side_by_side import measure, ratios, serve
from torch import nn
from torch.utils.data import DataLoader

from replab.backends import backend as backends
from replab.data.images import Dataset, Images, ImageSpec
from replab.models.loader import find
from replab.models.registry import MODELS
from replab.settings.recipe import Recipe
from replab.tasks.classify import Classify
from replab.training.experiment import Experiment, prefers_channels_last

LR = 5e-4
TARGETS = {"cnn": 0.5, "mlp": 0.35}


def published(name: str, image: ImageSpec) -> nn.Module:
    """The network as the notes have it: cnn with the ReLU before the pool."""
    if name == "mlp":
        return MODELS.get(name)(image)
    blocks: list[nn.Module] = []
    for fan_in, fan_out in ((image.channels, 32), (32, 64), (64, 128)):
        blocks += [nn.Conv2d(fan_in, fan_out, 3, padding=1), nn.BatchNorm2d(fan_out), nn.ReLU(), nn.MaxPool2d(2)]
    features = 128 * (image.height // 8) * (image.width // 8)
    head = [nn.Linear(features, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, image.classes)]
    return nn.Sequential(*blocks, nn.Flatten(), *head)


def learner(recipe: Recipe, images: Images) -> Experiment:
    task = Classify(torch, images.spec.classes)
    backend = backends.get("torch")
    data, source = Dataset("some", images, images, ""), find(recipe.model, backend)
    return Experiment(recipe, data, source, backend, "cpu", task)


def plain(name: str, images: Images) -> Callable[[], None]:
    """What people write: DataLoader, forward, backward, step."""
    model = published(name, images.spec)
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
    """The same batches, memory layout, allocator and optimiser as fit(), its layers one by one, and nothing else."""
    backends.get("torch")
    model = MODELS.get(name)(images.spec)
    if prefers_channels_last(model):
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR, fused=True)
    criterion = nn.CrossEntropyLoss()
    batches = learner(Recipe(lr=LR, epochs=1), images).batches(images, model, shuffled=True)

    def epoch() -> None:
        model.train()
        for batch in batches.epoch(1):
            optimizer.zero_grad()
            loss = criterion(model(batch.x), batch.y)
            loss.backward()
            optimizer.step()

    return epoch


def ours(name: str, images: Images) -> Callable[[], None]:
    experiment = learner(Recipe(model=name, lr=LR, epochs=10_000), images)
    rows = experiment.fit(experiment.model())
    return lambda: next(rows) and None


def main() -> None:
    rounds = int(sys.argv[1]) if sys.argv[1:] else 5
    print(f"10,000 images of {cifar_images()[0]}, batch 128, Adam, 2 threads, {rounds} interleaved epochs")
    for name, target in TARGETS.items():
        ratios(name, measure(__file__, SIDES, [name], rounds), "fit", {"plain": target, "bare": 1.05})


SIDES = {"plain": plain, "bare": bare, "fit": ours}

if __name__ == "__main__":
    torch.set_num_threads(2)
    if sys.argv[2:]:
        serve(SIDES[sys.argv[1]](sys.argv[2], cifar_images()[1]))
    else:
        main()
