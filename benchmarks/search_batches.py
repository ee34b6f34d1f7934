"""What it costs that trials are asked for ahead: loss, accuracy and epochs of a search, by how many are open at once.

    python benchmarks/search_batches.py                    cnn on digits, 1, 2, 4 and 8 trials open, three seeds

With eight open, a trial is asked for without knowing what comes of the seven before it. Each run searches the rate and
the epochs by the protocol `notes`, then trains; nothing else differs.
"""

from __future__ import annotations

import argparse
import tempfile
from statistics import mean, stdev

from replab import api
from replab.settings.recipe import Recipe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="cnn")
    parser.add_argument("--data", default="digits")
    parser.add_argument("--images", type=int)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--batches", default="1,2,4,8")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1, help="change the time alone")
    args = parser.parse_args()
    print("batch  best validation loss  test accuracy %    epochs of all trials  search s")
    for batch in map(int, args.batches.split(",")):
        losses, accuracies, epochs, seconds = list[float](), list[float](), list[int](), list[float]()
        for seed in range(3407, 3407 + args.seeds):
            with tempfile.TemporaryDirectory() as runs:
                run = api.run(
                    args.model, args.data, recipe=Recipe.of_protocol("notes"), limit=args.images, seed=seed, runs=runs,
                    quiet=True, workers=args.workers, search={"trials": args.trials, "batch": batch, "threads": 1},
                )  # fmt: skip
                trials = run.record.trials()
                losses.append(min(trial.value for trial in trials if trial.value is not None))
                accuracies.append(100 * run.metrics["accuracy"])
                epochs.append(sum(len(trial.losses) for trial in trials))
                seconds.append(run.seconds["search"])
        spread = [stdev(values) if args.seeds > 1 else 0.0 for values in (losses, accuracies)]
        print(f"{batch:<5}  {mean(losses):.4f} ± {spread[0]:.4f}       {mean(accuracies):.2f} ± {spread[1]:.2f}"
              f"       {mean(epochs):<20.0f}  {mean(seconds):.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
