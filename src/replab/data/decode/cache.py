"""Decoded sets, kept as memory-mapped .npy under a name made of the files' content: decoded once, never stale.

Hashing a large folder's bytes takes a while, so a second, quicker name (file names, sizes, times, inodes)
leads to the first. An entry is a folder, written under another name and renamed: two processes may build it
at once. A damaged entry is built again; where nothing can be written, everything works without a cache.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

import numpy as np

from replab import files
from replab.data import mapped
from replab.data.decode.decoded import Allocate, Decoded
from replab.errors import FileError

KIND = "decoded"  # the folder of the cache
FORMAT = 1  # raise it when decoding or the layout of an entry changes
REMARKS = ("skipped", "notices")  # written where there are some
JUST_NOW = 2.0  # seconds: a file this new may change again without its times showing it
ABANDONED = 24 * 3600.0  # seconds: an unfinished entry this old was left by a killed process


def content(named: Iterable[tuple[str, str | Path]], more: str = "") -> str:
    """A hex digest of these files' names and bytes, and of `more`. Quick if they were seen before."""
    named = list(named)
    quick = sha256(f"{FORMAT} {more}".encode())
    newest = 0
    for name, path in named:
        stat = os.stat(path)
        newest = max(newest, stat.st_mtime_ns, stat.st_ctime_ns)
        facts = (name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev)
        quick.update(repr(facts).encode())
    settled = time.time_ns() - newest > JUST_NOW * 1e9
    seen = files.cache_entry(KIND, f"seen-{quick.hexdigest()}")
    if settled:
        try:
            known = seen.read_text()
            if len(known) == 64:
                return known
        except (OSError, ValueError):
            pass
    found = sha256(more.encode())
    for name, path in named:
        found.update(repr((name, os.stat(path).st_size)).encode())
        with open(path, "rb") as file:
            while block := file.read(2**20):
                found.update(block)
    if settled:
        with contextlib.suppress(OSError, FileError):  # only speed is lost
            seen.parent.mkdir(parents=True, exist_ok=True)
            files.write_atomic(seen, found.hexdigest().encode())
    return found.hexdigest()


def decoded(key: str, make: Callable[[Allocate], Decoded]) -> Decoded:
    """The entry `key`, or what `make` makes, kept for the next time. `make` fills an array it allocates."""
    entry = files.cache_entry(KIND, f"set-{FORMAT}-{key}")
    found = _read(entry)
    if found is not None:
        return found
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix="part-", dir=entry.parent))
    except OSError:
        return make(lambda shape: np.empty(shape, np.uint8))
    try:
        made = make(lambda shape: _allocate(part / "pixels.npy", shape))
        if isinstance(made.pixels, np.memmap):  # not, where the disk had no room
            _keep(made, part, entry)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        _sweep(entry.parent)
    return _read(entry) or made


def _allocate(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    try:
        return mapped.new_file(path, np.uint8, shape)
    except OSError:
        return np.empty(shape, np.uint8)


def _keep(made: Decoded, part: Path, entry: Path) -> None:
    """Write what is not yet on disk, then rename the whole into place."""
    facts = {
        "classes": made.classes,
        "train": made.train,
        "labelled": made.labels is not None,
        "checksum": _checksum(made),
        **{key: words for key in REMARKS if (words := getattr(made, key))},
    }
    try:
        made.pixels.flush()  # type: ignore[attr-defined]
        np.save(part / "moments.npy", made.moments)
        if made.labels is not None:
            np.save(part / "labels.npy", made.labels)
        (part / "facts.json").write_text(json.dumps(facts))
        if entry.exists() and _read(entry) is None:
            shutil.rmtree(entry, ignore_errors=True)  # a damaged one
        files.rename(part, entry)  # whole even after a power cut: the checksum tells
    except OSError:
        pass  # another process was first, or the disk is full


def _read(entry: Path) -> Decoded | None:
    """The entry, or None if it is absent or in any way damaged."""
    try:
        facts = json.loads((entry / "facts.json").read_text())
        labels = np.load(entry / "labels.npy") if facts["labelled"] else None
        # copy on write: torch wants writable memory, and nothing anyone writes reaches the file
        found_moments = np.load(entry / "moments.npy")
        pixels = np.asarray(np.load(entry / "pixels.npy", mmap_mode="c"))[
            : len(found_moments)
        ]  # room for those skipped
        classes, train = tuple(facts["classes"]), facts["train"]
        more = (tuple(facts.get(key, ())) for key in REMARKS)
        found = Decoded(pixels, labels, classes, train, found_moments, *more)
        return found if _checksum(found) == facts["checksum"] else None
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None


def _checksum(found: Decoded) -> list[int]:
    remarks = "".join(f" {getattr(found, key)}" for key in REMARKS if getattr(found, key))
    facts = f"{found.classes} {found.train} {found.pixels.shape}{remarks}"
    arrays = [found.pixels, found.moments, *([] if found.labels is None else [found.labels])]
    return [zlib.crc32(facts.encode()), *(zlib.crc32(array.data) for array in arrays)]


def _sweep(folder: Path) -> None:
    """Remove what killed processes left unfinished."""
    for part in (*folder.glob("part-*"), *folder.glob(f"*{files.TEMPORARY}")):
        try:
            if time.time() - part.stat().st_mtime > ABANDONED:
                shutil.rmtree(part) if part.is_dir() else part.unlink()
        except OSError:
            pass
