"""replab against its peers on the same images, one after the other: time and test accuracy. `make peers` runs it.

make peers                                   # cnn, 3,000 images of CIFAR-10, one seed, fastai at 20 epochs
make peers PEERS="--seeds 0,1,2 --epochs 10,20,40 --augmented --lightning --epoch"
make peers PEERS="--model mlp --data fashion-mnist --per-class 1000 --seeds 0,1,2"
make peers PEERS="--model resnet9 --per-class 200 --epochs 10 --budget 3m"
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np

HERE = Path(__file__).parent
T95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}  # Student's t for a two-sided 95 % interval, by the number of seeds


def printed(python: str, script: str, *words: str) -> dict[str, float]:
    """The line of JSON that a side prints, and the seconds of its whole process: imports and reading too."""
    began = time.perf_counter()
    done = subprocess.run([python, str(HERE / script), *words], capture_output=True, text=True)
    whole = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"peers: {' '.join(words)} failed:\n{done.stderr[-2000:]}")
    return {**json.loads(done.stdout.splitlines()[-1]), "whole": whole}


def ours(given: argparse.Namespace, protocol: str, seed: int, folder: str) -> dict[str, float]:
    """A whole run; `seconds` are those of search, training and evaluation, as the peers', and `whole` of the command.

    `search` is what search and training take together, as a multiple of the training.
    """
    from replab import load_run

    words = ["run", given.model, "--data", given.data, "--per-class", str(given.per_class), "--protocol", protocol]
    words += ["--budget", given.budget] if given.budget else []
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "replab", *words, "--seed", str(seed), "--runs", folder, "--quiet"], check=True
    )
    whole = time.perf_counter() - began
    run = load_run("latest", folder)
    seconds = run.seconds
    search = 1 + seconds.get("search", 0.0) / seconds["train"]
    return {"seconds": sum(seconds.values()), "whole": whole, "search": search, "accuracy": run.metrics["accuracy"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=".venv-peers/bin/python", help="of the peers' environment")
    parser.add_argument("--model", default="cnn", help="cnn, mlp, resnet9 or another of the zoo")
    parser.add_argument("--data", default="cifar10")
    parser.add_argument("--per-class", type=int, default=300)
    parser.add_argument("--seeds", default="0", help="joined by commas")
    parser.add_argument("--protocols", default="standard")
    parser.add_argument("--budget", default="", help="for replab's search and training: 3m")
    parser.add_argument("--epochs", default="20", help="of fastai's one-cycle, joined by commas; empty: leave it out")
    parser.add_argument("--augmented", action="store_true", help="fastai also with flips and crops")
    parser.add_argument("--lightning", action="store_true", help="Lightning + Optuna too: minutes per seed")
    parser.add_argument("--epoch", action="store_true", help="one epoch of each framework too")
    given = parser.parse_args()
    if not Path(given.python).exists():
        raise SystemExit(f"peers: no environment at {given.python}; make peers builds it")

    from replab.data.load import load

    sides: dict[str, list[dict[str, Any]]] = {}
    seeds = [int(seed) for seed in given.seeds.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            data = load(given.data, seed=seed, per_class=given.per_class)
            path = f"{folder}/images.npz"
            (x, y), (x_test, y_test) = ((half.pixels, half.labels) for half in (data.train, data.test))
            assert y is not None
            assert y_test is not None
            np.savez(path, x=x, y=y, x_test=x_test, y_test=y_test)

            def peer(what: str, *rest: str, path: str = path, seed: int = seed) -> dict[str, float]:
                return printed(given.python, "sides.py", what, given.model, path, str(seed), *rest)

            for protocol in filter(None, given.protocols.split(",")):
                name = f"replab {protocol}" + (f", budget {given.budget}" if given.budget else "")
                show(sides, name, seed, ours(given, protocol, seed, f"{folder}/{protocol}-{seed}"))
            for epochs in filter(None, given.epochs.split(",")):
                for how in ("plain", *(["augmented"] if given.augmented else [])):
                    show(sides, f"fastai one-cycle({epochs}), {how}", seed, peer("fastai", epochs, how))
            if given.lightning:
                show(sides, "Lightning + Optuna", seed, peer("lightning-optuna"))
            if given.epoch:
                show(sides, "one epoch: fit()", seed, printed(sys.executable, "ours.py", given.model, path))
                for name in ("bare", "lightning", "fastai", "skorch"):
                    show(sides, f"one epoch: {name}", seed, peer("epoch", name))
    print(f"\n{given.model}, {10 * given.per_class:,} images of {given.data}, {len(seeds)} seed(s):")
    print("median of the seconds, and of those of the whole command; mean accuracy with its 95 % interval over seeds")
    for name, each in sides.items():
        parts = [f"{median(one[key] for one in each):7.1f} s" for key in ("seconds", "whole")]
        parts += [accuracy([one["accuracy"] for one in each])] if "accuracy" in each[0] else []
        print(f"  {name:32} {'   '.join(parts)}")


def accuracy(found: list[float]) -> str:
    half = T95[len(found)] * stdev(found) / len(found) ** 0.5 if len(found) in T95 else None
    return f"{mean(found):.2%}" + (f" ± {100 * half:.2f}" if half is not None else "")


def show(sides: dict[str, list[dict[str, Any]]], name: str, seed: int, found: dict[str, float]) -> None:
    sides.setdefault(name, []).append(found)
    print(f"  seed {seed}  {name:32} " + "  ".join(f"{key} {value:.4g}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
