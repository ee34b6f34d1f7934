"""Claim: search and training of cnn take at most 0.25 of the time of the same protocol with no pruning and a PIL
DataLoader, at equal or better test accuracy.

    python benchmarks/whole_protocol.py [--data fashion-mnist] [--images 3000] [--trials 20] [--seeds 0] [--threads 2]

Both sides get the same images, split, range, sampler and number of trials, each in a process of its own, one after the
other, and are tested on all test images of the set. The plain side is what one would write by hand: the published
network, Adam, a DataLoader of PIL images, the best trial's rate and epochs. About twenty minutes a seed; `--against
unpruned`, replab's own loop with the plain side's choices, tells in half the time what they cost or gain in accuracy.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import torch
from input_pipeline import OneByOne
from torch import nn
from torch.utils.data import DataLoader
from training_epoch import published

from replab import api
from replab.data.images import Images
from replab.data.load import load
from replab.data.split import split_for_search
from replab.search.choice import best
from replab.search.engines.in_process import InProcess
from replab.search.one_trial import Trials
from replab.search.trials import search
from replab.settings.recipe import Recipe
from replab.training.loop import Row

TARGET = 0.25


def look(model: nn.Module, images: Images) -> tuple[float, float]:
    """Loss and accuracy."""
    model.eval()
    loader = DataLoader(OneByOne(images), 256)
    loss = right = count = 0.0
    with torch.no_grad():
        for x, y in loader:
            logits = model(x)
            loss += nn.functional.cross_entropy(logits, y, reduction="sum").item()
            right += (logits.argmax(1) == y).sum().item()
            count += len(y)
    return loss / count, right / count


def train(recipe: Recipe, images: Images) -> Iterator[nn.Module]:
    """A plain loop; the network after each epoch."""
    model = published(recipe.model, images.spec)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.lr)
    loader = DataLoader(OneByOne(images), 128, shuffle=True)
    for _ in range(recipe.epochs or 0):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        yield model


def plain(recipe: Recipe) -> tuple[float, int, int]:
    """Test accuracy, epochs of all trials, epochs of the training."""
    data = load(recipe.data, limit=recipe.limit, seed=recipe.seed)
    part, validation = split_for_search(data.train, recipe.search, recipe.seed)

    def run_trial(trial: Recipe, events: object) -> Iterator[Row]:
        for epoch, model in enumerate(train(trial, part), 1):
            yield {"epoch": float(epoch), "val_loss": look(model, validation)[0]}

    torch.manual_seed(recipe.seed)
    alone = recipe.replace(search={"prune": False})
    trials = [done.result for done in search(alone, InProcess(Trials(alone, run_trial)), [])]
    chosen = best(trials)
    final = recipe.replace(lr=chosen.params["lr"], epochs=chosen.best_epoch)
    *_, model = train(final, data.train)
    accuracy = look(model, load(recipe.data).test)[1]
    return accuracy, sum(len(trial.losses) for trial in trials), chosen.best_epoch


def replab(recipe: Recipe) -> tuple[float, int, int]:
    with tempfile.TemporaryDirectory() as runs:
        run = api.run(recipe=recipe, quiet=True, runs=runs)
        searched = sum(len(trial["losses"]) for trial in run.trials)
        return look(run.model(), load(recipe.data).test)[1], searched, len(run.epochs)


def unpruned(recipe: Recipe) -> tuple[float, int, int]:
    return replab(recipe.replace(search={"prune": False, "choose": "best"}))


SIDES = {"replab": replab, "plain": plain, "unpruned": unpruned}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--images", type=int, default=3_000)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seeds", type=lambda text: [int(word) for word in text.split(",")], default=[0])
    parser.add_argument("--against", choices=("plain", "unpruned"), default="plain")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        torch.set_num_threads(args.threads)
        recipe = Recipe(model="cnn", data=args.data, limit=args.images, seed=args.seed)
        print(*SIDES[args.side](recipe.replace(search={"trials": args.trials})))
        return
    print(f"  cnn, {args.images:,} images of {args.data}, {args.trials} trials of up to 50 epochs", end=", ")
    print(f"{args.threads} threads, all test images")
    sides = ("replab", args.against)
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    found: dict[str, list[float]] = {side: [] for side in sides}
    for seed in args.seeds:
        for side in sides:
            started = time.perf_counter()
            command = [sys.executable, __file__, *sys.argv[1:], "--side", side, "--seed", str(seed)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            accuracy, searched, trained = done.stdout.split()
            seconds[side].append(time.perf_counter() - started)
            found[side].append(float(accuracy))
            print(f"  seed {seed}: {side} {seconds[side][-1]:.0f} s, {float(accuracy):.2%}", end=" ")
            print(f"({searched} epochs of search, {trained} of training)", flush=True)
    ratios = [ours / theirs for ours, theirs in zip(*seconds.values())]
    ours, theirs = (statistics.mean(found[side]) for side in sides)
    print(f"  time ratio {statistics.median(ratios):.2f} (target {TARGET}), accuracy {ours:.2%} against {theirs:.2%}")


if __name__ == "__main__":
    main()
