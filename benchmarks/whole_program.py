"""What a whole `replab run` costs beside its training, and how it grows with images, classes, trials and epochs.

    python benchmarks/whole_program.py                      all four, about ten minutes on two cores
    python benchmarks/whole_program.py --only trials --most 100

A tiny mlp on made-up 8x8 images, so that the program is measured and not the network. Each row is one command from its
start: seconds to the first batch, of search, training and evaluation, of everything after (report, figures, files), of
`predict` with one image and of `leaderboard` over this one run; the run's seconds of processors, which other work on
the machine changes little; its peak memory. A slope is the exponent between the last two sizes, of what grows:
log((c - a) / (b - a)) / log(C / B). Claim: none is above 1.15.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

TARGET = 1.15
SIZES = {"images": (1_000, 10_000, 50_000), "classes": (10, 100, 1_000), "trials": (10, 100, 1_000),
         "epochs": (10, 100, 1_000)}  # fmt: skip
COLUMNS = (
    "first batch",
    "search",
    "train",
    "evaluate",
    "after",
    "predict",
    "leaderboard",
    "whole",
    "processors",
    "MiB",
)
TRAINED = ("--lr", "1e-3", "--batch-size", "128")


def images(folder: Path, count: int, classes: int) -> Path:
    random = np.random.default_rng(0)
    labels = np.arange(count) % classes
    test = max(classes, count // 10)
    x, x_test = (random.integers(0, 256, (n, 8, 8), dtype=np.uint8) for n in (count, test))
    path = folder / f"images-{count}-{classes}.npz"
    np.savez(path, x=x, y=labels, x_test=x_test, y_test=np.arange(test) % classes)
    return path


def words_of(axis: str, size: int, folder: Path) -> list[str]:
    """The settings of one run; what an axis does not vary is small."""
    if axis == "images":
        return ["--data", str(images(folder, size, 10)), "--epochs", "1", *TRAINED]
    if axis == "classes":
        return ["--data", str(images(folder, 10_000, size)), "--epochs", "1", *TRAINED]
    data = ["--data", str(images(folder, 400, 10))]
    if axis == "epochs":
        return [*data, "--epochs", str(size), *TRAINED]
    return [
        *data,
        "--trials",
        str(size),
        "--max-epochs",
        "1",
        "--epochs",
        "1",
        "--fraction",
        "1",
        "--batch-size",
        "128",
    ]


def process(words: Sequence[str]) -> tuple[float, float, float, float]:
    """(when it began, seconds, seconds of processors, peak MiB) of a command of replab."""
    began, clock = time.time(), time.perf_counter()
    pid = os.fork()
    if pid == 0:
        with Path(os.devnull).open("w") as nothing:
            os.dup2(nothing.fileno(), 1)
        os.execv(sys.executable, [sys.executable, "-m", "replab", *words])
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"whole_program: replab {' '.join(words)} failed")
    return began, time.perf_counter() - clock, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measure(axis: str, size: int, root: Path) -> dict[str, float]:
    folder = root / f"{axis}-{size}"
    folder.mkdir(parents=True)
    runs = ("--runs", str(folder / "runs"))
    words = ("run", "mlp", "--set", "widths=[8]", "--protocol", "plain", "--workers", "1", "--quiet", *runs)
    began, whole, processors, memory = process([*words, *words_of(axis, size, folder)])
    (run,) = (folder / "runs").iterdir()
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    seconds = {event["stage"]: event["seconds"] for event in events if event["event"] == "stage"}
    begun = [event for event in events if event["event"] == "begin" and "trial" not in event]
    begins = {event["what"]: event["time"] for event in reversed(begun)}
    epochs = [event for event in events if event["event"] == "epoch" and "trial" not in event]
    end = next(event["time"] for event in events if event.get("stage") == "evaluate")
    picture = folder / "one.png"
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(picture)
    predict = process(["predict", str(run), str(picture)])[1]
    return {
        "first batch": min(begins.values()) - began,
        "search": begins["train"] - begins["search"] if "search" in begins else 0.0,
        "train": epochs[-1]["time"] - begins["train"],
        "evaluate": seconds["evaluate"],
        "after": whole - (end - began),
        "predict": predict,
        "leaderboard": process(["leaderboard", *runs])[1],
        "whole": whole,
        "processors": processors,
        "MiB": memory,
    }


def slope(sizes: Sequence[int], values: Sequence[float]) -> float | None:
    """Of the growth between the last two sizes; None where nothing grows by more than a twentieth of a second."""
    low, middle, high = values[-3:]
    if min(high - low, middle - low) < 0.05:
        return None
    return math.log((high - low) / (middle - low)) / math.log(sizes[-1] / sizes[-2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=SIZES, action="append")
    parser.add_argument("--most", type=int, default=10**9, help="leave larger sizes out")
    given = parser.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory() as root:
        os.environ["REPLAB_CACHE"] = f"{root}/cache"
        for axis in given.only or SIZES:
            sizes = [size for size in SIZES[axis] if size <= given.most]
            print(f"\n{axis:>9}  " + "  ".join(f"{name:>11}" for name in COLUMNS), flush=True)
            rows = []
            measure(axis, sizes[0], Path(root) / "warm")  # the first command of all reads its files from the disk
            for size in sizes:
                rows.append(measure(axis, size, Path(root)))
                print(f"{size:>9,}  " + "  ".join(f"{rows[-1][name]:>11.2f}" for name in COLUMNS), flush=True)
            if len(sizes) == 3:
                slopes = {name: slope(sizes, [row[name] for row in rows]) for name in COLUMNS}
                worst = max([worst, *(found for found in slopes.values() if found is not None)])
                texts = ("–" if slopes[name] is None else f"{slopes[name]:.2f}" for name in COLUMNS)
                print(f"{'slope':>9}  " + "  ".join(f"{text:>11}" for text in texts), flush=True)
    print(f"\nsteepest slope {worst:.2f} (target: at most {TARGET})")


if __name__ == "__main__":
    main()
