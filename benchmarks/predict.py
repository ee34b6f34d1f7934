"""replab predict: 10,000 PNG files of 32x32 through cnn, beside the time of reading and decoding them alone.

The claim is a ratio: predicting takes at most 3 times as long as decoding. Both are timed in turn; medians. The whole
command is timed too: Python and torch are imported, the run is read, and every line goes to a file.
"""

from __future__ import annotations

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

REPEATS = 5
TARGET = 3


def main(images: int = 10_000) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files, run = pictures(folder, images), trained(folder)
        list(predict_files(run, files[:512]))  # the model is built before the clock starts
        alone, whole, command = [], [], []
        for _ in range(REPEATS):
            alone.append(seconds(lambda: [decode(Path(file).read_bytes(), 3) for file in files]))
            whole.append(seconds(lambda: list(predict_files(run, files))))
            command.append(seconds(lambda: from_a_terminal(run, folder)))
        first, second, third = map(statistics.median, (alone, whole, command))
        print(
            f"{images:,} images of 32x32: decoding {first:.2f} s, predicting by cnn {second:.2f} s,"
            f" {second / first:.2f} times as long (target {TARGET}); the whole command {third:.2f} s"
        )


def pictures(folder: Path, count: int) -> list[str]:
    """Smooth colour pictures with some noise: PNGs of about the size that photos give."""
    rng = np.random.default_rng(0)
    (folder / "images").mkdir()
    names = []
    for i in range(count):
        rough = Image.fromarray(rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)).resize(
            (32, 32), Image.Resampling.BICUBIC
        )
        noisy = np.asarray(rough).astype(int) + rng.integers(-8, 9, (32, 32, 3))
        names.append(str(folder / "images" / f"{i}.png"))
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(names[-1])
    return names


def trained(folder: Path) -> api.Run:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 256, (200, 3, 32, 32), dtype=np.uint8), np.arange(200) % 10
    run = api.run("cnn", (x, y, x, y), lr=1e-3, epochs=1, quiet=True, runs=folder / "runs")
    return api.load_run(run.folder)


def from_a_terminal(run: api.Run, folder: Path) -> None:
    words = [sys.executable, "-m", "replab", "predict", str(run.folder), str(folder / "images"), "--csv"]
    with open(folder / "answers.csv", "w") as answers:
        subprocess.run(words, check=True, stdout=answers)


def seconds(work) -> float:  # type: ignore[no-untyped-def]
    started = perf_counter()
    work()
    return perf_counter() - started


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
