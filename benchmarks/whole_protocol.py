"""Aim: search and training of cnn take at most 0.25 of the time of the same protocol with no pruning and a PIL
DataLoader, at equal or better test accuracy. Both sides are reduced alike (--images, --trials, --max-epochs) and run
one after the other. Not yet run to its end: allow more than six minutes.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time

import numpy as np
import torch
from input_pipeline import ON_DISK, OneByOne
from torch import nn
from torch.utils.data import DataLoader

from replab import api
from replab.data.images import Dataset
from replab.data.sources import load
from replab.data.torchvision_sets import data_root
from replab.models.registry import builder
from replab.recipe import Recipe
from replab.search import split_for_search

TARGET = 0.25


def cifar() -> str:
    return next((n for n, file in ON_DISK.items() if (data_root() / file).exists()), "digits")


def losses(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    model.eval()
    loss = right = count = 0.0
    with torch.no_grad():
        for x, y in loader:
            logits = model(x)
            loss += nn.functional.cross_entropy(logits, y, reduction="sum").item()
            right += (logits.argmax(1) == y).sum().item()
            count += len(y)
    return loss / count, right / count


def train_epoch(model: nn.Module, loader: DataLoader, optimizer: torch.optim.Optimizer) -> None:
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def plain_protocol(data: Dataset, recipe: Recipe) -> float:
    """The protocol as published: random rates (hyperopt draws its first 20 so), patience, no pruning, a PIL loader."""
    rng = np.random.default_rng(recipe.seed)
    part, validation = split_for_search(data.train, recipe.search, recipe.seed)
    loaders = [DataLoader(OneByOne(part), 128, shuffle=True), DataLoader(OneByOne(validation), 256)]
    best = (math.inf, 0.0, 0)
    for _ in range(recipe.search.trials):
        lr = math.exp(rng.uniform(*map(math.log, recipe.search.lr)))
        model = builder(recipe.model)(data.spec)
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        lowest, at = math.inf, 0
        for epoch in range(1, recipe.search.max_epochs + 1):
            train_epoch(model, loaders[0], optimizer)
            loss, _ = losses(model, loaders[1])
            if loss < lowest:
                lowest, at = loss, epoch
            if epoch - at >= recipe.search.patience:
                break
        best = min(best, (lowest, lr, at))
    model = builder(recipe.model)(data.spec)
    optimizer = torch.optim.Adam(model.parameters(), lr=best[1])
    train, test = DataLoader(OneByOne(data.train), 128, shuffle=True), DataLoader(OneByOne(data.test), 256)
    accuracy = 0.0
    for _ in range(best[2]):
        train_epoch(model, train, optimizer)
        accuracy = losses(model, test)[1]  # looked at after each epoch, as published
    return accuracy


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=2_000)
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--max-epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(2)
    name = cifar()
    search = {"trials": args.trials, "max_epochs": args.max_epochs}
    ratios, found = [], []
    for seed in range(args.seeds):
        recipe = Recipe(model="cnn", data=name, limit=args.images, seed=seed).replace(search=search)
        data = load(name, limit=args.images, seed=seed)
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as runs:
            ours = api.run(recipe=recipe, quiet=True, runs=runs).metrics["accuracy"]
        middle = time.perf_counter()
        torch.manual_seed(seed)
        theirs = plain_protocol(data, recipe)
        ended = time.perf_counter()
        ratios.append((middle - started) / (ended - middle))
        found.append((ours, theirs))
        print(
            f"  seed {seed}: replab {middle - started:.0f} s {ours:.2%}, plain {ended - middle:.0f} s {theirs:.2%}",
            flush=True,
        )
    size = f"{args.images:,} images of {name}, {args.trials} trials of up to {args.max_epochs} epochs"
    ours, theirs = (statistics.mean(column) for column in zip(*found))
    print(f"  cnn, {size}: time ratio {statistics.median(ratios):.2f} (target {TARGET}),", end=" ")
    print(f"accuracy {ours:.2%} against {theirs:.2%}")


if __name__ == "__main__":
    main()
