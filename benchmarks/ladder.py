"""The ladder: how long two cores train until a known accuracy, each rung one command.

python benchmarks/ladder.py                                        # MNIST to 99 %, one seed
python benchmarks/ladder.py --rungs all --seeds 3 --runs ladder --figure docs/images/ladder.png

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
    "Fashion-MNIST 92 %": "run cnn --data fashion-mnist --protocol quick --epochs 6 --lr 3e-3",
    "CIFAR-10 80 %": "run airbench94 --data cifar10 --epochs 1",
    "CIFAR-10 90 %": "run airbench94 --data cifar10 --epochs 3",
    "CIFAR-10 94 %": "run airbench94 --data cifar10",
}
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


def draw(found: dict[str, list[Run]], path: str) -> None:
    figure = style.new(7.5, 4.2, "Accuracy by minutes of training on two CPU cores")
    ax = figure.add_subplot()
    style.dress(ax, "minutes of training", "", "test accuracy (%)")
    ax.set_xscale("log")
    for place, (name, runs) in enumerate(found.items()):
        minutes = [run.seconds["train"] / 60 for run in runs]
        accuracy = [100 * run.metrics["accuracy"] for run in runs]
        ax.plot(minutes, accuracy, "o", color=style.colour(place), markersize=5)
        ax.annotate(name, (median(minutes), mean(accuracy)), (8, 8), textcoords="offset points", fontsize=8)
    style.save(figure, Path(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rungs", default="MNIST 99 %", help="joined by commas, or all")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--runs", help="keep the runs here")
    parser.add_argument("--figure", help="draw all that was run")
    given = parser.parse_args()
    names = list(RUNGS) if given.rungs == "all" else [name.strip() for name in given.rungs.split(",")]
    found: dict[str, list[Run]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            print(f"{name}: replab {RUNGS[name]}", flush=True)
            for seed in range(FIRST, FIRST + given.seeds):
                place = Path(given.runs or folder) / f"{name.replace(' ', '-')}-{seed}"
                run = climbed(RUNGS[name], seed, place)
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
