"""doctor: what this machine has for replab, where things are looked for, and what they take."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from replab import files
from replab.cli.app import LOOK, Runs, app
from replab.cli.printing import print_pairs
from replab.settings.words import size as written

MADE_AGAIN = ("decoded", "features")  # kinds of cache that cost time, not a download
OPTIONAL = {  # package → what it adds
    "datasets": "Hugging Face data sets as data=",
    "pandas": "tables as data=",
    "ipykernel": "notebooks",
}
Pairs = Iterator[tuple[str, str]]


@app.command(rich_help_panel=LOOK)
def doctor(
    clean: Annotated[bool, typer.Option("--clean", help="remove caches that can be computed again")] = False,
    runs: Runs = None,
) -> None:
    """Say what this machine has: versions, devices, memory, disk, data sets that are there, caches and their sizes."""
    if clean:
        for folder in caches():
            if folder.name in MADE_AGAIN:
                freed = size(folder)
                shutil.rmtree(folder, ignore_errors=True)
                print(f"removed: {folder} ({written(freed)})")
    for title, pairs in (
        ("Versions", versions()), ("Machine", machine(runs)), ("Data", data()), ("Caches", cached()),
        ("Optional", optional()),
    ):  # fmt: skip
        print(f"{title}")
        print_pairs([(f"  {name}", text) for name, text in pairs])


def versions() -> Pairs:
    from replab import __version__
    from replab.records.environment import PACKAGES

    yield "replab", __version__
    yield "python", platform.python_version()
    for name in PACKAGES:
        yield name, importlib.metadata.version(name)


def machine(runs: str | None) -> Pairs:
    import torch

    from replab.records.environment import processor
    from replab.records.record import Record, runs_folder

    yield "processor", f"{processor()}, {os.cpu_count()} cores, torch uses {torch.get_num_threads()} threads"
    devices = [f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
    devices += ["mps"] if torch.backends.mps.is_available() else []
    build = "" if torch.version.cuda or devices else " (this torch is built for CPUs only)"
    yield "devices", ", ".join(["cpu", *devices]) + build
    yield "memory", memory()
    folder = runs_folder(runs)
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    yield "disk", f"{written(shutil.disk_usage(there).free)} free for runs in {folder}"
    yield "runs", f"{len(Record.all(folder)):,} in {folder}"


def memory() -> str:
    try:
        pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no such question
        return "unknown"
    return f"{written(pages * page)} in all"


def data() -> Pairs:
    root = files.data_root()
    yield "looked for in", f"{root} ({'$REPLAB_DATA' if os.environ.get('REPLAB_DATA') else 'REPLAB_DATA is not set'})"
    entries = sorted(path for path in root.iterdir() if not path.name.startswith(".")) if root.is_dir() else []
    yield "there", ", ".join(f"{path.name} ({written(size(path))})" for path in entries) or "nothing yet"


def caches() -> list[Path]:
    root = files.cache_root()
    return sorted(path for path in root.iterdir() if path.is_dir() and path.name != "data") if root.is_dir() else []


def cached() -> Pairs:
    yield (
        "kept in",
        f"{files.cache_root()} ({'$REPLAB_CACHE' if os.environ.get('REPLAB_CACHE') else 'REPLAB_CACHE is not set'})",
    )
    for folder in caches():
        note = "; replab doctor --clean removes it" if folder.name in MADE_AGAIN else ""
        yield folder.name, f"{written(size(folder))}{note}"


def optional() -> Pairs:
    for name, adds in OPTIONAL.items():
        try:
            yield name, f"{importlib.metadata.version(name)}: {adds}"
        except importlib.metadata.PackageNotFoundError:
            yield name, f"not installed: {adds}; pip install {name}"


def size(path: Path) -> int:
    """Bytes of a file or of all files below a folder."""
    try:
        if path.is_file():
            return path.stat().st_size
        return sum(inner.stat().st_size for inner in path.rglob("*") if inner.is_file() and not inner.is_symlink())
    except OSError:
        return 0
