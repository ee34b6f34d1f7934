"""Claim: 200,000 images of 64x64 train from disk with at most 1.5 GB of anonymous memory, at most 1.15 times as slow.

A folder of them is made, decoded into a cache and removed. `--epoch` times one whole epoch each way instead of a few
hundred batches in turns; the numbers of both ways must be the same to the last bit. `--run` is `replab run` from disk,
from the first file to the report, with the most anonymous memory that it had at any time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGET_GB, TARGET_RATIO = 1.5, 1.15
WAYS = {"in memory": "1T", "on disk": "0"}

# Batches are asked for by a line on stdin, so that both ways can take turns in one quiet moment.
SCRIPT = """
import sys
from time import perf_counter
from replab import api
from replab.data.mapped import Mapped
from replab.training import loop

experiment = api.prepare(sys.argv[2], sys.argv[1], lr=1e-3, epochs=1)
model, recipe = experiment.model(), experiment.recipe
optimizers = experiment.optimizers(model)
images = experiment.data.train
batches = experiment.batches(images, model, shuffled=True)
epoch, total, loss = batches.epoch(1), len(batches), []
print(len(images), int(isinstance(images.pixels, Mapped)), total, flush=True)
for line in sys.stdin:
    started = perf_counter()
    for _, batch in zip(range(int(line)), epoch):
        loss.append(loop.train_step(experiment, model, batch, optimizers, recipe, len(loss), total)["loss"].mean())
    seconds = perf_counter() - started
    status = dict(row.split(":") for row in open("/proc/self/status") if row.startswith("Rss"))
    print(seconds, int(status["RssAnon"].split()[0]) * 1024, float(loss[-1]).hex(), flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=200_000)
    parser.add_argument("--model", default="cnn")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--batches", type=int, default=25, help="per turn")
    parser.add_argument("--epoch", action="store_true", help="one whole epoch each way")
    parser.add_argument("--run", action="store_true", help="a whole run of one epoch, from disk alone")
    parser.add_argument("--keep", type=Path, help="a folder for images and cache that stays, to measure again")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = asked.keep or Path(temporary)
        if not (place / "images").is_dir():
            make(place / "images", asked.images)
        if asked.run:
            whole_run(place, asked.model)
        else:
            compare(place, asked)


def make(folder: Path, n: int) -> None:
    """Noise over a colour that depends on the class: BMP, because this is about training and not about decoding."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    for c in range(10):
        (folder / str(c)).mkdir(parents=True)
        for i in range(n // 10):
            pixels = rng.integers(0, 128, (64, 64, 3), dtype=np.uint8) + np.uint8(12 * c)
            Image.fromarray(pixels).save(folder / str(c) / f"{i:06}.bmp")


def compare(place: Path, asked: argparse.Namespace) -> None:
    started = {way: start(place, asked.model, memory) for way, memory in WAYS.items()}
    try:
        heads = {way: answer(process) for way, process in started.items()}
        assert [head[1] for head in heads.values()] == ["0", "1"], heads
        total = int(heads["on disk"][2])
        size = total if asked.epoch else asked.batches
        results: dict[str, list[list[str]]] = {way: [] for way in WAYS}
        for _ in range(1 if asked.epoch else 1 + asked.turns):
            for way, process in started.items():
                assert process.stdin is not None
                process.stdin.write(f"{size}\n")
                process.stdin.flush()
                results[way].append(answer(process))
    finally:
        for process in started.values():
            process.terminate()
    report(results, int(heads["on disk"][0]), asked, size, total)


def whole_run(place: Path, model: str) -> None:
    """Every stage, from reading to the report; its memory is looked at ten times per second."""
    words = ["run", model, "--data", str(place / "images"), "--lr", "1e-3", "--epochs", "1"]
    words += ["--protocol", "plain", "--runs", str(place / "runs")]
    environment = {**os.environ, "REPLAB_MEMORY": "0", "REPLAB_CACHE": str(place / "cache")}
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "replab", *words], env=environment, stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        rows = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        peak = max(peak, *(int(row.split()[1]) * 1024 for row in rows if row.startswith("RssAnon")), 0)
        time.sleep(0.1)
    assert process.returncode == 0, process.returncode
    seconds = time.perf_counter() - began
    print(f"  replab run {model} from disk: {peak / 1e9:.2f} GB of anonymous memory at most (target {TARGET_GB})")
    print(f"  in {seconds:.0f} s, decoding included where it was not in the cache")


def start(place: Path, model: str, memory: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(place / "images"), model]
    environment = {**os.environ, "REPLAB_MEMORY": memory, "REPLAB_CACHE": str(place / "cache")}
    process = subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, text=True)
    return process


def answer(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.readline().split()


def report(results: dict[str, list[list[str]]], n: int, asked: argparse.Namespace, size: int, total: int) -> None:
    from statistics import median

    same = [one[2] for one in results["in memory"]] == [two[2] for two in results["on disk"]]
    print(f"  {asked.model}, {n:,} training images of 64x64; same losses to the last bit: {same}")
    seconds = {}
    for way, rows in results.items():
        timed = rows if len(rows) == 1 else rows[1:]  # the first turn warms up
        seconds[way] = median(float(row[0]) for row in timed) * total / size
        peak = max(int(row[1]) for row in rows) / 1e9
        print(f"  {way}: {seconds[way]:.0f} s per epoch, {peak:.2f} GB of anonymous memory")
    ratio = seconds["on disk"] / seconds["in memory"]
    print(f"  on disk / in memory: {ratio:.3f} times (target {TARGET_RATIO}); memory target {TARGET_GB} GB")


if __name__ == "__main__":
    main()
