"""The ladder: how long two cores train until a known accuracy, each rung one command; and what a budget buys.

python benchmarks/ladder.py                                        # MNIST to 99 %, one seed
python benchmarks/ladder.py --rungs all --seeds 3 --runs ladder --figure docs/images/ladder.png
python benchmarks/ladder.py --rungs "" --budgets 1m,3m,10m,30m     # cnn on CIFAR-10 in so much time

Prints seconds of training, FLOPs and test accuracy of every run. With `--runs` what is there is not run again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean, median

from replab import load_run
from replab.figures import style
from replab.runs.run import Run

RUNGS = {  # what is to be reached → the command
    "MNIST 99 %": 'run conv2 --data mnist --protocol quick --epochs 3 --lr 5e-3 --augment ""',
    "Fashion-MNIST 92 %": "run cnn --data fashion-mnist --protocol quick --epochs 8 --augment flip",
    "CIFAR-10 80 %": "run airbench94 --data cifar10 --epochs 1",
    "CIFAR-10 90 %": "run airbench94 --data cifar10 --epochs 3",
    "CIFAR-10 94 %": "run airbench94 --data cifar10",
}
BUDGET = "run cnn --data cifar10 --budget {}"
FIRST = 1  # seed; the settings were tried with others


def climbed(words: str, seed: int, folder: Path) -> Run:
    """The run of a rung by a seed, which may be there."""
    if not folder.is_dir() or not any(folder.iterdir()):
        given = [word.strip('"') for word in words.split()]
        again = [*given, "--seed", str(seed), "--runs", str(folder), "--quiet"]
        subprocess.run([sys.executable, "-m", "replab", *again], check=True)
    return load_run("latest", folder)


def flops(run: Run) -> float:
    """Of the training, about: six per multiplication, image and epoch."""
    return 6.0 * run.facts["macs"] * run.input["train_images"] * len(run.epochs)


def minutes(run: Run) -> float:
    """Of the search, which a budget pays for too, and the training."""
    return (run.seconds.get("search", 0.0) + run.seconds["train"]) / 60


def draw(found: dict[str, list[Run]], path: str) -> None:
    """Each run a dot; a line through the means of the budgets."""
    figure = style.new(7.5, 4.2, "Accuracy by minutes of search and training on two CPU cores")
    ax = figure.add_subplot()
    style.dress(ax, "minutes of search and training", "", "test accuracy (%)")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    bought = list[tuple[float, float]]()
    for place, (name, runs) in enumerate(found.items()):
        budget = name not in RUNGS
        colour = style.colour(len(RUNGS) if budget else place)
        ax.plot(list(map(minutes, runs)), [100 * run.metrics["accuracy"] for run in runs], "o", color=colour)
        centre = median(map(minutes, runs)), 100 * mean(run.metrics["accuracy"] for run in runs)
        ax.annotate(name, centre, (8, -4), textcoords="offset points", fontsize=8)
        bought += [centre] if budget else []
    if bought:
        ax.plot(*zip(*bought), "-", color=style.colour(len(RUNGS)), zorder=1.5)
    ax.margins(x=0.15, y=0.1)
    style.save(figure, Path(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rungs", default="MNIST 99 %", help="joined by commas, or all")
    parser.add_argument("--budgets", default="", help="of cnn on CIFAR-10, joined by commas: 1m,3m,10m,30m")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--runs", help="keep the runs here")
    parser.add_argument("--figure", help="draw all that was run")
    given = parser.parse_args()
    names = list(RUNGS) if given.rungs == "all" else [name.strip() for name in given.rungs.split(",") if name]
    commands = {name: RUNGS[name] for name in names}
    commands |= {f"cnn, --budget {time}": BUDGET.format(time) for time in given.budgets.split(",") if time}
    found: dict[str, list[Run]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, words in commands.items():
            print(f"{name}: replab {words}", flush=True)
            for seed in range(FIRST, FIRST + given.seeds):
                place = Path(given.runs or folder) / f"{name.replace(' ', '-')}-{seed}"
                run = climbed(words, seed, place)
                found.setdefault(name, []).append(run)
                seconds, accuracy = run.seconds["train"], run.metrics["accuracy"]
                print(f"  seed {seed}: {seconds:.1f} s of training, {accuracy:.2%}, {flops(run):.2g} FLOPs", flush=True)
        for name, runs in found.items():
            times = median(run.seconds["train"] for run in runs)
            print(f"{name}: {times:.1f} s (median), {mean(run.metrics['accuracy'] for run in runs):.2%} (mean)")
        if given.figure:
            draw(found, given.figure)


if __name__ == "__main__":
    main()
