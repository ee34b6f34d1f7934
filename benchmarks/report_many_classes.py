"""Claim: a report is bounded: 2,000 classes and 50,000 test images take under 1 GiB of memory and 20 s.

    python benchmarks/report_many_classes.py [CLASSES IMAGES [FOLDER]]      2,000 and 50,000; FOLDER keeps the run

Makes a finished run of that size and measures `replab report` on it in a process of its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from replab.records.record import Record
from replab.settings.recipe import Recipe

SECONDS, BYTES = 20.0, 2**30
EPOCHS, MISTAKES = 300, 32


def make(folder: Path, classes: int, images: int) -> Path:
    """A finished run: logits near the labels, neighbouring classes confused, long and odd class names."""
    rng = np.random.default_rng(0)
    recipe = Recipe(model="mlp", lr=1e-3, epochs=EPOCHS)
    environment = {"replab": "0", "python": "3", "packages": {}, "device": "cpu", "processor": "none", "threads": 1}
    record = Record.create(folder, recipe, environment)
    labels = rng.integers(0, classes, images)
    logits = rng.normal(size=(images, classes), scale=0.5).astype(np.float32)
    logits[np.arange(images), labels] += 4
    near = np.where(rng.random(images) < 0.3, (labels + 1) % min(classes, 60), labels)
    logits[np.arange(images), near] += 3
    answers = logits.argmax(1)
    wrong = np.flatnonzero(answers != labels)[:MISTAKES]
    record.write_text("chosen.toml", recipe.to_toml())
    names = [f"class {c} | with *a* long <name> and $more$" if c % 7 == 0 else f"class {c}" for c in range(classes)]
    record.write_json(
        "input.json",
        {
            "data": "many", "fingerprint": "same", "train_images": images, "test_images": images, "channels": 3,
            "height": 32, "width": 32, "classes": names, "mean": None, "std": None, "task": "classify",
        },
    )  # fmt: skip
    layer = {"name": "layer", "kind": "Linear", "shape": [classes], "parameters": 10, "macs": 10, "leaf": True}
    record.write_json(
        "facts.json",
        {
            "parameters": 1000, "trainable": 1000, "peak_memory": 1, "inference_images_per_second": 1.0, "macs": 1,
            "structure": "mlp", "layers": [layer],
        },
    )  # fmt: skip
    rows = [{"epoch": e + 1.0, "train_loss": 7 / (e + 1), "test_accuracy": 1 - 1 / (e + 2)} for e in range(EPOCHS)]
    record.write_lines("epochs.jsonl", rows)
    record.write_lines("times.jsonl", [{"stage": "train", "seconds": 1.0, "train_seconds": 1.0, "images": images}])
    pixels = rng.integers(0, 256, (len(wrong), 3, 32, 32), dtype=np.uint8)
    arrays: dict[str, np.ndarray] = {
        "logits": logits,
        "labels": labels,
        "mistake_index": wrong,
        "mistake_pixels": pixels,
    }
    record.write_predictions(arrays)
    accuracy = float((answers == labels).mean())
    record.write_json("metrics.json", {"loss": 1.0, "accuracy": accuracy, "ece": 0.0})
    return record.folder


def measured(record: Record) -> tuple[float, float, int]:
    """Seconds, seconds of CPU and peak bytes of `replab report`, in a process of its own."""
    started = time.perf_counter()
    words = [sys.executable, "-m", "replab", "report", record.id, "--runs", str(record.folder.parent)]
    child = os.posix_spawn(sys.executable, words, {**os.environ}, file_actions=[(os.POSIX_SPAWN_CLOSE, 1)])
    _, status, used = os.wait4(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "the report failed"
    return (
        time.perf_counter() - started,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    )


def main() -> None:
    classes, images = (int(word) for word in (sys.argv[1:3] or ("2000", "50000")))
    with tempfile.TemporaryDirectory() as root:
        folder = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(root)
        with get_context("spawn").Pool(1) as pool:  # elsewhere: a child's peak counts what its parent held
            record = Record(pool.apply(make, (folder, classes, images)))
        seconds, cpu, used = measured(record)
        size = record.path("report.md").stat().st_size
        drawn = max(path.stat().st_size for path in record.path("figures").iterdir())
    print(f"report of {classes:,} classes and {images:,} test images:")
    print(f"{seconds:.1f} s ({cpu:.1f} s of CPU), {used / 2**20:,.0f} MiB")
    print(f"report.md {size / 1e3:,.0f} kB, largest figure {drawn / 1e3:,.0f} kB")
    print(f"target: under {SECONDS:g} s and {BYTES >> 20:,} MiB")


if __name__ == "__main__":
    main()
