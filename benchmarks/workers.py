"""What workers cost and save: coordination of short trials, and a real search with 2 workers against one process.

    python benchmarks/workers.py                       coordination, and cnn on digits
    python benchmarks/workers.py --data cifar10 --images 3000

Coordination: trials that only sleep, on 2 worker processes, against their sum divided by two; at most 1.2, start-up
excluded. A search by the protocol `notes` in batches of 4: on 2 workers of one thread, against one process with two
threads; at most 0.65 on digits and 0.85 on CIFAR-10. Times are of this machine; ratios are within one run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from time import perf_counter

import torch

from replab import api
from replab.data.split import split_for_search
from replab.records.events import Events
from replab.search.engines.base import Job, Workers
from replab.search.hire import hire
from replab.search.work import Work
from replab.settings.recipe import Recipe
from replab.training.prepare import prepare

SLEEPER = """
import time
from torch import nn

class Slow(nn.Module):
    def __init__(self, seconds):
        super().__init__()
        self.seconds, self.layer = seconds, nn.Linear(64, 10)

    def forward(self, x):
        if self.training:
            time.sleep(self.seconds)
        return self.layer(x.flatten(1))

def build(image, seconds=0.5):
    return Slow(seconds)
"""


def coordination(trials: int, seconds: float) -> float:
    """Time of trials that sleep, over their sum divided by two."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sleeper.py"
        path.write_text(SLEEPER)
        search = {"max_epochs": 1, "fraction": 1.0, "min_validation": 10}
        recipe = Recipe(model=f"{path}:build", limit=60, batch_size=60, params={"seconds": seconds})
        experiment = prepare(recipe.replace(search=search))
        work = Work(experiment, *split_for_search(experiment.data.train, experiment.recipe.search, recipe.seed))
        crew = hire(work, Workers(2, "processes"))
        try:
            list(crew.run([Job(n, {"lr": 1e-3}) for n in range(2)], Events()))  # start-up
            started = perf_counter()
            done = list(crew.run([Job(n, {"lr": 1e-3}) for n in range(trials)], Events()))
            taken = perf_counter() - started
        finally:
            crew.close()
    assert len(done) == trials
    return taken / (trials * seconds / 2)


def search_seconds(recipe: Recipe, workers: int) -> tuple[float, float]:
    """Of the whole search, and of that until the first trial began: workers have torch to import."""
    with tempfile.TemporaryDirectory() as runs:
        run = api.run(recipe=recipe, quiet=True, runs=runs, workers=workers)
        lines = (run.folder / "events.jsonl").read_text().splitlines()
        trials = [entry for entry in map(json.loads, lines) if entry["event"] == "trial"]
        return sum(entry["elapsed"] for entry in trials), trials[0]["elapsed"] - trials[0]["seconds"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="digits")
    parser.add_argument("--images", type=int)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--epochs", type=int, help="of a trial at most; as the protocol says unless given")
    parser.add_argument("--sleepers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each sleeper")
    args = parser.parse_args()
    if args.sleepers:
        ratio = coordination(args.sleepers, args.seconds)
        print(f"coordination: {args.sleepers} trials of {args.seconds} s on 2 workers: {ratio:.2f} of their sum / 2")
    torch.set_num_threads(2)
    notes = Recipe.of_protocol("notes").replace(model="cnn", data=args.data, limit=args.images)
    search = {"trials": args.trials, "batch": 4} | ({"max_epochs": args.epochs} if args.epochs else {})
    alone, _ = search_seconds(notes.replace(search={**search, "threads": 2}), 1)
    shared, start = search_seconds(notes.replace(search={**search, "threads": 1}), 2)
    print(f"search of {args.trials} trials: {alone:.1f} s on two threads, {shared:.1f} s on 2 workers:"
          f" {shared / alone:.2f}; without their start, {start:.1f} s, {(shared - start) / alone:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
