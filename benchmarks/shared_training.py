"""One training by two processes of one thread (--ddp 2) against one process with two threads, for resnet18.

    REPLAB_DATA=FOLDER python benchmarks/shared_training.py
    python benchmarks/shared_training.py --data digits --model resnet8 --images 1000

Seconds per epoch of training, without the first, in turn; at most 1.15. Both have the same batches. Times are of this
machine; the ratio is within one run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from statistics import median

import torch

from replab import api


def epochs(args: argparse.Namespace, processes: int) -> list[float]:
    """Training seconds of each epoch but the first, in which memory is allocated."""
    with tempfile.TemporaryDirectory() as runs:
        run = api.run(
            args.model, args.data, limit=args.images, batch_size=args.batch, lr=1e-3, epochs=args.epochs + 1,
            runs=runs, quiet=True, ddp=processes,
        )  # fmt: skip
        lines = map(json.loads, (run.folder / "events.jsonl").read_text().splitlines())
        return [line["times"]["train_seconds"] for line in lines if line["event"] == "epoch"][1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--data", default="cifar10")
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=2, help="that are timed")
    parser.add_argument("--turns", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(2)
    alone, shared = list[float](), list[float]()
    for _ in range(args.turns):
        alone += epochs(args, 1)
        shared += epochs(args, 2)
    one, two = median(alone), median(shared)
    print(f"{args.model}, {args.images} images, batch {args.batch}: {one:.2f} s per epoch with two threads,"
          f" {two:.2f} s with two processes: {two / one:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
