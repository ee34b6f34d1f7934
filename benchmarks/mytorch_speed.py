"""Claim: a full training step on mytorch takes no longer than on torch (small networks) or little longer (the others).

Each library runs in a process of its own with two threads, so that neither's thread pool or allocator disturbs the
other; the two take turns, and the medians of all turns are compared.

    python benchmarks/mytorch_speed.py [model ...] [--rounds 7] [--threads 2]

`scalar` is micrograd's demo (a network of numbers, one graph node per multiplication) against micrograd itself, where
that is installed (pip install micrograd).

With REPLAB_ONEDNN_PRODUCTS=1 torch multiplies matrices as it does within replab on AMD processors with AVX-512.

On a machine that is busy with other work, two threads mostly wait for each other: --threads 1 says more then.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from typing import Any

import numpy as np

THREADS = 2  # the claim is for two
# batch, shape of a sample, steps in one turn, most that mytorch may take as a multiple of torch
CASES = {
    "lenet": (100, (1, 28, 28), 10, 0.9),
    "fcn": (100, (1, 28, 28), 100, 1.0),
    "mlp": (128, (3, 32, 32), 10, 0.9),
    "cnn": (128, (3, 32, 32), 2, 0.9),
    "resnet18": (16, (3, 32, 32), 1, 1.1),
    "nanovit": (128, (3, 32, 32), 1, 1.1),
    "chargpt": (16, (64,), 2, 1.1),
    "lstm": (32, (50, 28), 4, 1.1),
    "scalar": (10, (2,), 2, 1.5),
}
CHARACTERS = 65


def build(name: str, lib: Any) -> Any:
    """The model in plain torch style; `lib` is torch or mytorch."""
    nn = lib.nn

    def fcn() -> Any:
        return nn.Sequential(
            nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)
        )

    def lenet() -> Any:
        return nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.BatchNorm2d(6), nn.ReLU(), nn.AvgPool2d(2),
            nn.Conv2d(6, 16, 5), nn.BatchNorm2d(16), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(),
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
        )  # fmt: skip

    def mlp() -> Any:
        return nn.Sequential(
            nn.Flatten(), nn.Linear(3072, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)
        )

    def cnn() -> Any:
        layers: list[Any] = []
        for before, after in ((3, 32), (32, 64), (64, 128)):
            layers += [nn.Conv2d(before, after, 3, padding="same"), nn.BatchNorm2d(after), nn.ReLU()]
            layers += [nn.MaxPool2d(2)]
        head = [nn.Flatten(), nn.Linear(2048, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, 10)]
        return nn.Sequential(*layers, *head)

    class NanoViT(nn.Module):  # type: ignore[name-defined]  # of either library
        def __init__(self, width: int = 192, patch: int = 4) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, patch, patch)
            self.cls = nn.Parameter(lib.zeros(1, 1, width))
            self.positions = nn.Parameter(lib.zeros(1, (32 // patch) ** 2 + 1, width))
            self.dropout = nn.Dropout(0.1)
            layer = nn.TransformerEncoderLayer(width, 8, 384, 0.1, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 4)
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2)  # (B, tokens, width)
            x = lib.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
            return self.head(self.norm(self.encoder(self.dropout(x))[:, 0]))

    class Residual(nn.Module):  # type: ignore[name-defined]
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(after)
            self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(after)
            self.short = nn.Sequential()
            if before != after:
                self.short = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

        def forward(self, x: Any) -> Any:
            out = lib.relu(self.norm1(self.conv1(x)))
            return lib.relu(self.norm2(self.conv2(out)) + self.short(x))

    def resnet18() -> Any:
        layers: list[Any] = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
        for before, after, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
            layers += [Residual(before, after, stride), Residual(after, after, 1)]
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            n, length, width = x.shape
            q, k, v = self.qkv(self.norm1(x)).split(width, dim=2)
            q, k, v = (t.view(n, length, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v))
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).contiguous().view(n, length, width))
            return x + self.mlp(self.norm2(x))

    class CharGPT(nn.Module):  # type: ignore[name-defined]
        def __init__(self, width: int = 128, length: int = 64) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(CHARACTERS, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block(width, 4) for _ in range(4)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, CHARACTERS, bias=False)

        def forward(self, x: Any) -> Any:
            x = self.tokens(x) + self.places(lib.arange(x.shape[1]))
            return self.head(self.norm(self.blocks(x))).transpose(1, 2)  # (B, characters, T)

    class Recurrent(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(28, 128, 2, batch_first=True), nn.Linear(128, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0][:, -1])

    kinds = {"fcn": fcn, "lenet": lenet, "mlp": mlp, "cnn": cnn, "nanovit": NanoViT, "resnet18": resnet18}
    return (kinds | {"chargpt": CharGPT, "lstm": Recurrent})[name]()


def scalar_trainer(library: str) -> Any:
    """micrograd's demo: a 2-16-16-1 network of single numbers with a margin loss, on `library`'s numbers."""
    import random

    random.seed(0)
    rng = np.random.default_rng(0)
    xs, ys = rng.standard_normal((CASES["scalar"][0], 2)).tolist(), rng.choice([-1.0, 1.0], CASES["scalar"][0]).tolist()
    if library == "micrograd":
        number: Any = importlib.import_module("micrograd.engine").Value
        leaf = number
    else:
        lib = importlib.import_module(library)
        number = lib.tensor

        def leaf(value: float) -> Any:
            return number(value, requires_grad=True)

    sizes = (2, 16, 16, 1)
    layers = [
        [([leaf(random.uniform(-1, 1)) for _ in range(i)], leaf(0.0)) for _ in range(o)] for i, o in pairwise(sizes)
    ]
    parameters = [p for layer in layers for weights, bias in layer for p in (*weights, bias)]

    def step() -> float:
        losses = []
        for x, y in zip(xs, ys):
            values = [number(v) for v in x]
            for depth, layer in enumerate(layers):
                sums = [sum((w * v for w, v in zip(weights, values)), bias) for weights, bias in layer]
                values = [s.relu() for s in sums] if depth < 2 else sums
            losses.append((1 + -y * values[0]).relu())
        loss = sum(losses) * (1.0 / len(losses)) + 1e-4 * sum(p * p for p in parameters)
        for p in parameters:
            p.grad = 0 if library == "micrograd" else None
        loss.backward()
        for p in parameters:
            p.data -= 0.05 * p.grad
        return 0.0

    return step


def trainer(name: str, library: str, threads: int = THREADS) -> Any:
    """A function that does one training step: zero_grad, forward, loss, backward, optimiser step."""
    if name == "scalar":
        return scalar_trainer(library)
    lib = importlib.import_module(library)
    lib.set_num_threads(threads)
    lib.manual_seed(0)
    batch, shape, _, _ = CASES[name]
    rng = np.random.default_rng(0)
    x = lib.from_numpy(rng.standard_normal((batch, *shape), dtype=np.float32))
    y = lib.from_numpy(rng.integers(0, 10, batch))
    if name == "chargpt":
        x, y = (lib.from_numpy(rng.integers(0, CHARACTERS, (batch, *shape))) for _ in range(2))
    model, loss_of = build(name, lib), lib.nn.CrossEntropyLoss()
    if name in ("lenet", "fcn"):
        optimizer = lib.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    else:
        optimizer = lib.optim.Adam(model.parameters(), lr=1e-4)

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def worker(name: str, library: str, threads: int) -> None:
    """Answers each line on stdin with the seconds one step took, averaged over a turn."""
    if library == "torch" and os.environ.get("REPLAB_ONEDNN_PRODUCTS") == "1":
        from replab.backends.products import products_by_onednn

        products_by_onednn()
    step = trainer(name, library, threads)
    steps = CASES[name][2]
    step()
    for _ in sys.stdin:
        start = time.perf_counter()
        for _ in range(steps):
            step()
        print((time.perf_counter() - start) / steps, flush=True)


def compare(name: str, rounds: int, threads: int) -> tuple[float, float]:
    """Median seconds of a step on mytorch and on torch, turn by turn."""
    env = os.environ | {f"{k}_NUM_THREADS": str(threads) for k in ("OMP", "OPENBLAS", "MKL")}
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, "--worker", library, "--threads", str(threads), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        for library in ("mytorch", "micrograd" if name == "scalar" else "torch")
    ]
    times: list[list[float]] = [[], []]
    for turn in range(rounds + 1):
        for process, seconds in zip(workers, times):
            assert process.stdin is not None
            assert process.stdout is not None
            print(file=process.stdin, flush=True)
            answer = float(process.stdout.readline())
            if turn:  # the first warms up
                seconds.append(answer)
    for process in workers:
        process.communicate()
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=list(CASES))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--worker", choices=("mytorch", "torch", "micrograd"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments.models[0], arguments.worker, arguments.threads)
        return
    print(f"{'model':8} {'mytorch ms':>11} {'other ms':>9} {'ratio':>6} {'at most':>8}")
    for name in arguments.models:
        if name == "scalar" and importlib.util.find_spec("micrograd") is None:
            print("scalar    not timed: pip install micrograd")
            continue
        ours, theirs = compare(name, arguments.rounds, arguments.threads)
        ratio, limit = ours / theirs, CASES[name][3]
        verdict = "holds" if ratio <= limit else "FAILS"
        print(f"{name:8} {ours * 1e3:11.2f} {theirs * 1e3:9.2f} {ratio:6.2f} {limit:8.1f}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
