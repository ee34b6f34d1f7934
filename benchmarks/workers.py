"""What workers cost and save: coordination of short trials, and a real search with 2 workers against one process.

    python benchmarks/workers.py                       coordination, and cnn on digits
    python benchmarks/workers.py --data cifar10 --images 3000

Coordination: trials that only sleep, on 2 worker processes, against their sum divided by two; at most 1.2, start-up
excluded. A search by the protocol `notes` with up to 4 trials open at once: on 2 workers of one thread, against one
process with two threads; at most 0.65 on digits and 0.85 on CIFAR-10. Both are commands, as a user types them; timed is
their search, from its first question to its last answer, and in brackets the whole command. One thread rounds otherwise
than two, so the two searches ask for other rates and end after other numbers of epochs: the ratio per epoch leaves that
out. Times are of this machine; ratios are within one pair of searches, of which `--repeats` are made, each with a seed
of its own, the two sides taking turns at being first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import deque
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

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
            list(crew.run(deque(Job(n, {"lr": 1e-3}) for n in range(2)), Events()))  # start-up
            started = perf_counter()
            done = list(crew.run(deque(Job(n, {"lr": 1e-3}) for n in range(trials)), Events()))
            taken = perf_counter() - started
        finally:
            crew.close()
    assert len(done) == trials
    return taken / (trials * seconds / 2)


class Searched(NamedTuple):
    seconds: float
    start: float  # of those, until the first trial began
    epochs: int  # of all trials
    busy: float  # seconds of all trials
    whole: float  # seconds of the command

    @property
    def words(self) -> str:
        parts = f"{self.busy:.1f} s in trials, start {self.start:.1f} s, the command {self.whole:.1f} s"
        return f"{self.seconds:.1f} s for {self.epochs} epochs ({parts})"


def searched(recipe: Recipe, workers: int) -> Searched:
    with tempfile.TemporaryDirectory() as runs:
        file = Path(runs) / "recipe.toml"
        file.write_text(recipe.to_toml())
        words = ["run", "--recipe", str(file), "--workers", str(workers), "--runs", runs, "--quiet"]
        began = perf_counter()
        subprocess.run([sys.executable, "-m", "replab", *words], check=True)
        whole, run = perf_counter() - began, api.load_run("latest", runs)
        lines = (run.folder / "events.jsonl").read_text().splitlines()
        trials = [entry for entry in map(json.loads, lines) if entry["event"] == "trial"]
        first = trials[0]["elapsed"] - trials[0]["seconds"]
        epochs, busy = sum(len(trial.losses) for trial in run.record.trials()), sum(t["seconds"] for t in trials)
        return Searched(sum(entry["elapsed"] for entry in trials), first, epochs, busy, whole)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="digits")
    parser.add_argument("--images", type=int)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--epochs", type=int, help="of a trial at most; as the protocol says unless given")
    parser.add_argument("--repeats", type=int, default=3, help="pairs of searches; 0: coordination alone")
    parser.add_argument("--sleepers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each sleeper")
    args = parser.parse_args()
    if args.sleepers:
        ratio = coordination(args.sleepers, args.seconds)
        print(f"coordination: {args.sleepers} trials of {args.seconds} s on 2 workers: {ratio:.2f} of their sum / 2")
    notes = Recipe.of_protocol("notes").replace(model="cnn", data=args.data, limit=args.images)
    search = {"trials": args.trials, "batch": 4} | ({"max_epochs": args.epochs} if args.epochs else {})
    ratios, per_epoch = list[float](), list[float]()
    for seed in range(3407, 3407 + args.repeats):
        sides = [(2, 1), (1, 2)][:: 1 if seed % 2 else -1]  # (threads, workers)
        found = {
            count: searched(notes.replace(seed=seed, search={**search, "threads": n}), count) for n, count in sides
        }
        alone, shared = found[1], found[2]
        ratios.append(shared.seconds / alone.seconds)
        per_epoch.append(ratios[-1] * alone.epochs / shared.epochs)
        print(f"seed {seed}, {args.trials} trials: two threads {alone.words}; 2 workers {shared.words}:"
              f" {ratios[-1]:.2f}, per epoch {per_epoch[-1]:.2f}", flush=True)  # fmt: skip
    if ratios:
        print(f"search on 2 workers against two threads: {median(ratios):.2f}, per epoch {median(per_epoch):.2f}")


if __name__ == "__main__":
    main()
