"""Claim: 2,000 training steps of lenet (batch 100) on mytorch do not grow memory; its peak is within 2 x torch's.

Each library trains in a process of its own; resident memory is read at several points.

    python benchmarks/mytorch_memory.py [--steps 2000] [--threads 2]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys

from mytorch_speed import THREADS, trainer

PEAK_LIMIT = 2.0
GROWTH_LIMIT = 1.02  # resident memory at the end against the first reading after warming up


def resident_mib() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def worker(library: str, steps: int, threads: int) -> None:
    """Prints 'step MiB' at a tenth, a quarter, half and all of the steps, then 'peak MiB'."""
    step = trainer("lenet", library, threads)
    points = {max(1, steps // part) for part in (10, 4, 2, 1)}
    for number in range(1, steps + 1):
        step()
        if number in points:
            print(number, resident_mib(), flush=True)
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measure(library: str, steps: int, threads: int) -> tuple[list[tuple[str, float]], float]:
    env = os.environ | {f"{k}_NUM_THREADS": str(threads) for k in ("OMP", "OPENBLAS", "MKL")}
    command = [sys.executable, __file__, "--worker", library, "--steps", str(steps), "--threads", str(threads)]
    lines = subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout.split("\n")
    readings = [(name, float(value)) for name, value in (line.split() for line in lines if line)]
    return readings[:-1], readings[-1][1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--worker", choices=("mytorch", "torch"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments.worker, arguments.steps, arguments.threads)
        return
    readings, peak = measure("mytorch", arguments.steps, arguments.threads)
    _, reference = measure("torch", min(arguments.steps, 200), arguments.threads)
    print("mytorch: " + ", ".join(f"step {name}: {value:.1f} MiB" for name, value in readings))
    growth, ratio = readings[-1][1] / readings[0][1], peak / reference
    print(f"growth {growth:.3f} x (at most {GROWTH_LIMIT})  {'holds' if growth <= GROWTH_LIMIT else 'FAILS'}")
    print(
        f"peak {peak:.0f} MiB against torch's {reference:.0f} MiB: {ratio:.2f} x (at most {PEAK_LIMIT})  "
        f"{'holds' if ratio <= PEAK_LIMIT else 'FAILS'}"
    )


if __name__ == "__main__":
    main()
