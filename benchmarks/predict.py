"""replab predict: 10,000 PNG files of 32x32 through cnn, beside the time of reading and decoding them alone.

The claim is a ratio: predicting takes at most 3 times as long as decoding. Both are timed in turn; medians. The whole
command is timed too: Python and torch are imported, the run is read, and every line goes to a file.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
from PIL import Image

from replab import api
from replab.data.decode.pictures import decode
from replab.runs.predict import predict_files

TARGET = 3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="a folder for images and run that stays, to measure again")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        if not (folder / "images").is_dir():
            pictures(folder, asked.images)
            trained(folder)
        compare(folder, asked.repeats)


def compare(folder: Path, repeats: int) -> None:
    files = sorted(map(str, (folder / "images").iterdir()))
    (run,) = api.all_runs(folder / "runs")
    list(predict_files(run, files[:512]))  # the model is built before the clock starts
    alone, whole = [], []
    for _ in range(repeats):
        alone.append(seconds(lambda: [decode(Path(file).read_bytes(), 3) for file in files]))
        whole.append(seconds(lambda: list(predict_files(run, files))))
    first, second = statistics.median(alone), statistics.median(whole)
    print(
        f"{len(files):,} images of 32x32: decoding {first:.2f} s, predicting by cnn {second:.2f} s,"
        f" {second / first:.2f} times as long (target {TARGET})",
        flush=True,
    )
    print(f"the whole command: {seconds(lambda: from_a_terminal(run, folder)):.2f} s")


def pictures(folder: Path, count: int) -> None:
    """Smooth colour pictures with some noise: PNGs of about the size that photos give."""
    rng = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    for i in range(count):
        rough = Image.fromarray(rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)).resize(
            (32, 32), Image.Resampling.BICUBIC
        )
        noisy = np.asarray(rough).astype(int) + rng.integers(-8, 9, (32, 32, 3))
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(folder / "images" / f"{i}.png")


def trained(folder: Path) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 256, (200, 3, 32, 32), dtype=np.uint8), np.arange(200) % 10
    api.run("cnn", (x, y, x, y), lr=1e-3, epochs=1, quiet=True, runs=folder / "runs")


def from_a_terminal(run: api.Run, folder: Path) -> None:
    words = [sys.executable, "-m", "replab", "predict", str(run.folder), str(folder / "images"), "--csv"]
    with open(folder / "answers.csv", "w") as answers:
        subprocess.run(words, check=True, stdout=answers)


def seconds(work) -> float:  # type: ignore[no-untyped-def]
    started = perf_counter()
    work()
    return perf_counter() - started


if __name__ == "__main__":
    main()
