"""Claim: `replab --help` and `replab models` answer in under 0.4 s, because torch is not imported for them."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS, TARGET = 7, 0.4


def seconds(*words: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "replab", *words], check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    for words in (["--help"], ["models"], ["datasets"]):
        median = statistics.median(seconds(*words) for _ in range(ROUNDS))
        print(f"  replab {' '.join(words)}: {median:.2f} s (target {TARGET})")


if __name__ == "__main__":
    main()
