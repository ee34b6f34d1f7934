"""Claim: help, lists and refusals take at most 0.4 of the time of `python -c "import torch"`: they import no torch.

Each round measures the import and every command once, so that both see the same load; the medians are compared.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS, TARGET = 5, 0.4
COMMANDS = [
    "--help", "--version", "run --help", "models", "datasets", "runs", "leaderboard", "replicate --list",
    "run cnnn", "run cnn --data nosuch", "run cnn --nosuch 1", "run cnn --optimizer nosuch", "run --recipe bad.toml",
]  # fmt: skip


def seconds(folder: str, *words: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=folder, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bad.toml").write_text('optimiser = "adam"\n')
        imports: list[float] = []
        times: dict[str, list[float]] = {line: [] for line in COMMANDS}
        for _ in range(ROUNDS):
            imports.append(seconds(folder, "-c", "import torch"))
            for line, own in times.items():
                own.append(seconds(folder, "-m", "replab", *line.split()))
    torch = statistics.median(imports)
    print(f"  import torch: {torch:.2f} s")
    for line, own in times.items():
        ratio = statistics.median(own) / torch
        print(f"  replab {line:<28}{statistics.median(own):>6.2f} s, {ratio:.2f} of it (target {TARGET})")


if __name__ == "__main__":
    main()
