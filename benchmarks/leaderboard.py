"""Claim: `replab leaderboard` reads each run once: 1,000 runs take at most 5 times as long as 100.

    python benchmarks/leaderboard.py [SMALL LARGE]      100 and 1,000 runs unless given

Makes folders of small finished runs on one data set and times the command, start-up included, over both in turns.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from replab.records.record import Record
from replab.settings.recipe import Recipe

ROUNDS, TARGET = 3, 5.0
DIFFERENT = 20  # every write waits for the disk, so more of them would take minutes
IMAGES, CLASSES = 500, 10


def make(folder: Path, count: int) -> None:
    """Finished runs as replab writes them, with answers for the same test images; most are copies of the first ones."""
    labels = np.random.default_rng(0).integers(0, CLASSES, IMAGES)
    for number in range(min(count, DIFFERENT)):
        rng = np.random.default_rng(number)
        recipe = Recipe(model="mlp", lr=1e-3, epochs=2, seed=number)
        environment = {"replab": "0", "python": "3", "packages": {}, "device": "cpu", "processor": "none", "threads": 1}
        record = Record.create(folder, recipe, environment)
        logits = rng.normal(size=(IMAGES, CLASSES)).astype(np.float32)
        logits[np.arange(IMAGES), labels] += rng.uniform(0, 3)
        record.write_text("chosen.toml", recipe.to_toml())
        record.write_json(
            "input.json",
            {
                "data": "digits", "fingerprint": "same", "train_images": 1000, "test_images": IMAGES, "channels": 1,
                "height": 8, "width": 8, "classes": [str(c) for c in range(CLASSES)], "mean": None, "std": None,
                "task": "classify",
            },
        )  # fmt: skip
        record.write_json(
            "facts.json",
            {
                "parameters": 1000, "trainable": 1000, "peak_memory": 1, "inference_images_per_second": 1.0, "macs": 1,
                "structure": "", "layers": [],
            },
        )  # fmt: skip
        record.write_json("cuts.json", [])
        record.write_lines("epochs.jsonl", [{"epoch": 1.0, "test_accuracy": 0.5}])
        record.write_lines("times.jsonl", [{"stage": "train", "seconds": rng.uniform(1, 9)}])
        record.write_predictions({"logits": logits, "labels": labels})
        accuracy = float((logits.argmax(1) == labels).mean())
        record.write_json("metrics.json", {"loss": 1.0, "accuracy": accuracy, "ece": 0.0})
    made = sorted(folder.iterdir())
    for number in range(DIFFERENT, count):
        shutil.copytree(made[number % DIFFERENT], folder / f"copy-{number}")


def seconds(folder: Path) -> float:
    started = time.perf_counter()
    words = ["-m", "replab", "leaderboard", "--csv", "--runs", str(folder)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    taken = time.perf_counter() - started
    count = len(list(folder.iterdir()))
    assert done.stdout.count("\n") == count + 1, f"{count} runs, but {done.stdout.count(chr(10)) - 1} rows"
    return taken


def main() -> None:
    small, large = (int(word) for word in (sys.argv[1:] or ("100", "1000")))
    with tempfile.TemporaryDirectory() as root:
        folders = {count: Path(root, str(count)) for count in (small, large)}
        for count, folder in folders.items():
            make(folder, count)
        times: dict[int, list[float]] = {small: [], large: []}
        for _ in range(ROUNDS):
            for count, folder in folders.items():
                times[count].append(seconds(folder))
    middle = {count: statistics.median(taken) for count, taken in times.items()}
    each = (middle[large] - middle[small]) / max(1, large - small)
    ratio = middle[large] / middle[small]
    for count, taken in middle.items():
        print(f"{count:>6,} runs: {taken:6.2f} s (median of {ROUNDS})")
    print(f"{large:,} runs take {ratio:.2f} times as long as {small:,}: {1e3 * each:.2f} ms per run; target {TARGET:g}")


if __name__ == "__main__":
    main()
