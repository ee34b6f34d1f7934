"""Sides of a comparison, each in a process of its own (fit() keeps freed memory for the whole process), in turns."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any


def serve(work: Callable[[], object]) -> None:
    """In a side's process: do the work, and print its seconds, for each line read."""
    for _ in sys.stdin:
        started = time.perf_counter()
        work()
        print(time.perf_counter() - started, flush=True)


def measure(script: str, sides: Iterable[str], arguments: list[str], rounds: int) -> dict[str, list[float]]:
    """Seconds of each side, one after another for each round; the round before them warms up."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = {side: subprocess.Popen([sys.executable, script, side, *arguments], **pipes) for side in sides}
    seconds: dict[str, list[float]] = {side: [] for side in workers}
    for round_ in range(rounds + 1):
        for side, process in workers.items():
            print(file=process.stdin, flush=True)
            assert process.stdout is not None
            took = float(process.stdout.readline())
            if round_:
                seconds[side].append(took)
    for process in workers.values():
        process.communicate()
    return seconds


def ratios(what: str, seconds: dict[str, list[float]], ours: str, targets: dict[str, float]) -> None:
    """Print every side's seconds, and ours over each of the targets', round by round."""
    for side, found in seconds.items():
        print(f"  {what} {side:9} " + " ".join(f"{s:.2f}" for s in found) + f" s, median {median(found):.2f}")
    for other, most in targets.items():
        each = [a / b for a, b in zip(seconds[ours], seconds[other])]
        print(f"  {what}: {ours}/{other} {median(each):.2f} ({min(each):.2f} to {max(each):.2f}; target {most})")
