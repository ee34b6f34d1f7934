"""Do two commits compute the same numbers? Small runs by both, compared bit for bit: rows, studies, weights, metrics.

    .venv/bin/python tools/same_numbers.py b9f5d48              that commit against the working tree
    .venv/bin/python tools/same_numbers.py b9f5d48 main         two commits
    ... --old-env PATH                                          a checkout of OLD that has its own .venv already
    ... --keep FOLDER                                           keep the runs; those of OLD are then not run again
    ... --only vae --only search                                some of the cases

Each side is its own `replab` command in its own environment, on one thread; nothing of either is imported here, so it
does not matter how the code is laid out. Nothing is compared with stored numbers: another processor rounds otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
SMALL = ("--limit", "200", "--epochs", "2")
OLD_FORMAT = ("--recipe", "{recipe}")  # an empty one: of format 1, whose trials are asked for one by one in any version
FROZEN = ("run", "cnn", *OLD_FORMAT, "--weights", "{weights}", "--freeze", "--limit", "200")  # the run of case `cnn`

# name → the words after `replab`; --runs is added. They must mean the same on both sides, so they use plain flags only.
CASES: dict[str, tuple[str, ...]] = {
    "cnn": ("run", "cnn", "--lr", "1e-3", *SMALL),
    "search": ("run", "cnn", *OLD_FORMAT, "--trials", "3", "--limit", "400", "--search", "weight_decay=[1e-5,1e-2]"),
    "one-cycle": ("run", "resnet9", "--lr", "1e-2", *SMALL, "--schedule", "one-cycle", "--augment", "flip,crop=1",
                  "--weight-decay", "1e-4", "--clip-value", "0.1", "--optimizer", "adamw"),
    "sgd": ("run", "mlp", "--lr", "1e-2", *SMALL, "--optimizer", "sgd", "--momentum", "0.9", "--schedule", "cosine",
            "--label-smoothing", "0.1", "--augmented-copy", "affine=10:1:0.1"),
    "squared-error": ("run", "mlp4", "--lr", "1e-3", *SMALL, "--loss", "squared-error", "--clip-norm", "1"),
    "nanovit": ("run", "nanovit", "--lr", "1e-3", *SMALL, "--set", "patch=2", "--augment", "cutout=2"),
    "vae": ("run", "vae", "--lr", "1e-3", *SMALL, "--size", "16"),
    "cvae-head": ("run", "cvae-head", "--lr", "1e-3", *SMALL, "--size", "16"),
    "vq-vae": ("run", "vq-vae", "--lr", "1e-3", *SMALL, "--size", "16"),
    "dcgan": ("run", "dcgan", "--lr", "2e-4", *SMALL, "--size", "32"),
    "acgan": ("run", "acgan", "--lr", "2e-4", *SMALL, "--size", "32"),
    "vae-search": ("run", "vae", *OLD_FORMAT, "--limit", "200", "--size", "16", "--fast"),
    "frozen": (*FROZEN, "--trials", "3"),
    "frozen-plain": (*FROZEN, "--lr", "1e-2", "--epochs", "2", "--no-feature-cache"),
    "logistic": (*FROZEN, "--head", "logistic"),
    "knn": (*FROZEN, "--head", "knn"),
    "fine-tune": ("run", "cnn", "--weights", "{weights}", "--lr", "1e-3", "--lr-backbone", "1e-4", *SMALL),
    "mup": ("run", "mlp", "--mup", "--base-width", "32", "--set", "widths=[64,64]", "--lr", "1e-2", *SMALL),
    "mytorch": ("run", "lenet", "--backend", "mytorch", "--lr", "0.05", "--optimizer", "sgd", "--momentum", "0.9",
                "--size", "28", *SMALL),
    "mytorch-search": ("run", "mlp", *OLD_FORMAT, "--backend", "mytorch", "--trials", "2", "--limit", "200"),
    "replicate": ("replicate", "numpy-lab/fcn", "--data", "digits", "--limit", "200", "--epochs", "1",
                  "--results", "{results}"),
    "replicate-search": ("replicate", "mnist-lab/conv1", "--data", "digits", "--size", "28", "--fast",
                         "--results", "{results}"),
}  # fmt: skip

NUMBERS = ("study.jsonl", "epochs.jsonl", "metrics.json", "model.safetensors")
NOT_NUMBERS = {"minutes", "hardware", "commit", "command"}  # of a ledger's row: when, where and by whom


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("old", help="a commit")
    words.add_argument("new", nargs="?", help="another; left out: the working tree, in its .venv")
    words.add_argument("--old-env", type=Path, help="a checkout of OLD with a .venv that is ready; left out: built")
    words.add_argument("--keep", type=Path, help="keep the runs here")
    words.add_argument("--only", action="append", choices=CASES, help="this case; may be repeated")
    given = words.parse_args()
    wanted = given.only or list(CASES)
    if any("{weights}" in word for name in wanted for word in CASES[name]) and "cnn" not in wanted:
        wanted = ["cnn", *wanted]
    with tempfile.TemporaryDirectory() as folder:
        place = given.keep.resolve() if given.keep else Path(folder)
        with checkout(given.old, given.old_env) as old, checkout(given.new, None) as new:
            return compare_all(wanted, old, new, place)


def compare_all(wanted: list[str], old: Path, new: Path, place: Path) -> int:
    differing = 0
    for name in wanted:
        before = carry_out(name, old, place / "old", again=False)
        after = carry_out(name, new, place / "new", again=True)
        differences = compare(before, after)
        differing += bool(differences)
        print(f"{name:<18}{'differs: ' + '; '.join(differences) if differences else 'same'}", flush=True)
    print(f"{len(wanted) - differing} of {len(wanted)} cases are the same")
    return int(differing > 0)


@contextmanager
def checkout(commit: str | None, ready: Path | None) -> Iterator[Path]:
    """The folder of a commit with an environment in its .venv: given, built for the occasion, or the working tree."""
    if commit is None or ready is not None:
        yield (ready or HERE).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, commit], cwd=HERE, check=True)
        try:
            subprocess.run(["make", "--silent", ".venv/ready"], cwd=tree, env=environment(), check=True)
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=HERE, check=True)


def environment() -> dict[str, str]:
    """One thread, so that sums have one order; no settings of the caller's; the protocol that every version knows."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("REPLAB_", "MYTORCH_", "MAKE", "PYTHON"))}
    return ours | {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "REPLAB_PROTOCOL": "plain",
    }


def carry_out(name: str, tree: Path, place: Path, again: bool) -> Path:
    """Run a case in `place` and return its folder, which holds `runs` and perhaps `results`, or `failed`."""
    folder = place / name
    if folder.is_dir() and not again:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    own = {"REPLAB_CACHE": str(place / "cache")}
    weights = next((place / "cnn" / "runs").glob("*/model.safetensors"), None)
    blanks = {"weights": weights.parent if weights else "", "results": folder / "results", "recipe": folder / "r.toml"}
    words = [word.format(**blanks) if word.startswith("{") else word for word in CASES[name]]
    (folder / "runs").mkdir(parents=True)
    (folder / "r.toml").touch()
    done = subprocess.run(
        [tree / ".venv/bin/replab", *words, "--runs", folder / "runs"],
        cwd=folder, env=environment() | own, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        (folder / "failed").write_text((done.stderr.strip() or done.stdout.strip()).splitlines()[-1])
    return folder


def compare(old: Path, new: Path) -> list[str]:
    """What differs between two folders of a case, in words; nothing where all numbers are the same bits."""
    failed = [f"{side} failed: {(f / 'failed').read_text()}" for side, f in (("old", old), ("new", new))
              if (f / "failed").is_file()]  # fmt: skip
    if failed:
        return failed
    pairs = list(zip(*(sorted((folder / "runs").glob("*/recipe.toml")) for folder in (old, new))))
    if not pairs:
        return ["no run was made"]
    found = [line for a, b in pairs for name in NUMBERS for line in in_file(a.parent / name, b.parent / name)]
    return found + in_file(old / "results" / "rows.jsonl", new / "results" / "rows.jsonl")


def in_file(old: Path, new: Path) -> list[str]:
    name = old.name
    if old.is_file() != new.is_file():
        return [f"{name} is there only in the {'old' if old.is_file() else 'new'} one"]
    if not old.is_file():
        return []
    read = {".jsonl": rows, ".json": lambda path: json.loads(path.read_text()), ".safetensors": tensors}[old.suffix]
    line = difference(read(old), read(new))
    return [f"{name}{line}"] if line else []


def difference(old: Any, new: Any) -> str:
    """Where two values first differ. Floats are compared as Python reads them, which loses no bit."""
    if isinstance(old, dict) and isinstance(new, dict):
        if gone := sorted(old.keys() - new.keys()):  # what a later version keeps in addition is no other number
            return f" has {', '.join(gone)} only in the old one"
        return next((f" {k}{line}" for k in old if (line := difference(old[k], new[k]))), "")
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return f" has {len(old)} and {len(new)} entries"
        return next((f" [{i}]{line}" for i, (a, b) in enumerate(zip(old, new)) if (line := difference(a, b))), "")
    if isinstance(old, bytes):
        return "" if old == new else " differs"
    return "" if repr(old) == repr(new) else f": {old!r} and {new!r}"


def rows(path: Path) -> list[dict[str, Any]]:
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    return [{k: v for k, v in row.items() if k not in NOT_NUMBERS} for row in kept]


def tensors(path: Path) -> dict[str, Any]:
    """name → type, shape and bytes: a safetensors file is the length of a JSON header, the header, the bytes."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    kinds = {name: f"{t['dtype']} {t['shape']}" for name, t in header.items()}
    ends = {name: [start + offset for offset in t["data_offsets"]] for name, t in header.items()}
    return {name: {"type": kinds[name], "values": content[slice(*ends[name])]} for name in header}


if __name__ == "__main__":
    sys.exit(main())
