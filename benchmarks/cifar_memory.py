"""Claim: all of CIFAR-10 in memory and cnn training on it peak under 1.2 GB. One epoch in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile

from input_pipeline import ON_DISK

from replab.files import data_root

TARGET = 1.2

SCRIPT = """
import sys
from replab import api
from replab.training.cost import peak_memory
run = api.run("cnn", sys.argv[1], lr=5e-4, epochs=1, quiet=True, runs=sys.argv[2])
print(len(run.predictions["labels"]), peak_memory("cpu") / 1e9)
"""


def main() -> None:
    name = next((n for n, file in ON_DISK.items() if (data_root() / file).exists()), None)
    if name is None:
        print("  CIFAR-10 is not on disk: nothing measured (replab run cnn --data cifar10 fetches it)")
        return
    with tempfile.TemporaryDirectory() as runs:
        done = subprocess.run([sys.executable, "-c", SCRIPT, name, runs], check=True, capture_output=True, text=True)
    images, peak = done.stdout.split()
    print(f"  cnn on {name}, 50,000 + {int(images):,} images: peak {float(peak):.2f} GB (target {TARGET})")


if __name__ == "__main__":
    main()
