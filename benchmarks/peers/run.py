"""replab against its peers on the same images, one after the other: time and test accuracy. `make peers` runs it.

make peers                                   # cnn, 3,000 images of CIFAR-10, one seed, fastai at 20 epochs
make peers PEERS="--seeds 3 --epochs 10,20,40 --lightning --per-class 1000"
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

HERE = Path(__file__).parent


def peer(python: str, *words: str) -> dict[str, float]:
    done = subprocess.run([python, str(HERE / "sides.py"), *words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"peers: {' '.join(words)} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def ours(protocol: str, data: str, per_class: int, seed: int, folder: str) -> dict[str, float]:
    """A whole run, start and report included; `seconds` are those of search, training and evaluation, as the peers'."""
    from replab import load_run

    words = ["run", "cnn", "--data", data, "--per-class", str(per_class), "--protocol", protocol, "--seed", str(seed)]
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "replab", *words, "--runs", folder, "--quiet"], check=True)
    whole = time.perf_counter() - began
    run = load_run("latest", folder)
    return {"seconds": sum(run.seconds.values()), "whole": whole, "accuracy": run.metrics["accuracy"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=".venv-peers/bin/python", help="of the peers' environment")
    parser.add_argument("--data", default="cifar10")
    parser.add_argument("--per-class", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--protocols", default="standard")
    parser.add_argument("--epochs", default="20", help="of fastai's one-cycle, joined by commas; empty: leave it out")
    parser.add_argument("--augmented", action="store_true", help="fastai also with flips and crops")
    parser.add_argument("--lightning", action="store_true", help="Lightning + Optuna too: minutes per seed")
    parser.add_argument("--epoch", action="store_true", help="one epoch of each framework too")
    given = parser.parse_args()
    if not Path(given.python).exists():
        raise SystemExit(f"peers: no environment at {given.python}; make peers builds it")

    from replab.data.load import load

    sides: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seeds):
            data = load(given.data, seed=seed, per_class=given.per_class)
            path = f"{folder}/images.npz"
            (x, y), (x_test, y_test) = ((half.pixels, half.labels) for half in (data.train, data.test))
            assert y is not None
            assert y_test is not None
            np.savez(path, x=x, y=y, x_test=x_test, y_test=y_test)
            for protocol in filter(None, given.protocols.split(",")):
                found = ours(protocol, given.data, given.per_class, seed, f"{folder}/{protocol}-{seed}")
                show(sides, f"replab {protocol}", seed, found)
            for epochs in filter(None, given.epochs.split(",")):
                for how in ("plain", *(["augmented"] if given.augmented else [])):
                    found = peer(given.python, "fastai", path, str(seed), epochs, how)
                    show(sides, f"fastai one-cycle({epochs}), {how}", seed, found)
            if given.lightning:
                show(sides, "Lightning + Optuna", seed, peer(given.python, "lightning-optuna", path, str(seed)))
            if given.epoch:
                for name in ("bare", "lightning", "fastai", "skorch"):
                    show(sides, f"one epoch: {name}", seed, peer(given.python, "epoch", path, str(seed), name))
    print(f"\ncnn, {10 * given.per_class:,} images of {given.data}, means over {given.seeds} seed(s):")
    for name, each in sides.items():
        parts = [f"{mean(one['seconds'] for one in each):7.1f} s"]
        parts += [f"{mean(one['accuracy'] for one in each):.2%}"] if "accuracy" in each[0] else []
        print(f"  {name:32} {'   '.join(parts)}")


def show(sides: dict[str, list[dict[str, Any]]], name: str, seed: int, found: dict[str, float]) -> None:
    sides.setdefault(name, []).append(found)
    print(f"  seed {seed}  {name:32} " + "  ".join(f"{key} {value:.4g}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
