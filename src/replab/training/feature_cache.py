"""Rows of features on disk: memory-mapped .npy under a key made of everything that decides them.

Written block by block with a running checksum beside it, so that a killed pass continues where it stopped. The
boundaries of the blocks do not depend on where that was, and so neither do the rows. Of two processes, one computes
and the other waits, then reads. A damaged file is made again; where nothing can be written, all is done in memory.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from replab import files
from replab.data.mapped import new_file
from replab.errors import FileError

FORMAT = 1  # raise it when the layout of an entry changes
BLOCK = 1024  # rows between two notes of the progress

Compute = Callable[[int, int], np.ndarray]  # rows from start to stop
Watch = Callable[[Iterable[int], int], Iterator[int]]  # a progress bar over blocks


def rows(key: str, count: int, width: int, compute: Compute, watch: Watch) -> np.ndarray:
    """(count, width) float32: read from disk; missing ones are computed."""
    folder = files.cache_entry("features", f"features-{FORMAT}-{key}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with files.lock(folder / "lock", wait=True):
            return _filled(folder, count, width, compute, watch)
    except (OSError, FileError):
        found = np.empty((count, width), np.float32)
        for start in watch(range(0, count, BLOCK), -(-count // BLOCK)):
            found[start : start + BLOCK] = compute(start, min(start + BLOCK, count))
        return found


def _filled(folder: Path, count: int, width: int, compute: Compute, watch: Watch) -> np.ndarray:
    file = folder / "features.npy"
    done, checksum = _state(folder, count, width)
    if done < count:
        array = np.load(file, mmap_mode="r+") if done else new_file(file, np.float32, (count, width))
        for start in watch(range(done, count, BLOCK), -(-(count - done) // BLOCK)):
            stop = min(start + BLOCK, count)
            array[start:stop] = compute(start, stop)
            array.flush()  # type: ignore[union-attr]
            checksum = zlib.crc32(array[start:stop].data, checksum)
            files.write_atomic(folder / "state.json", json.dumps({"done": stop, "checksum": checksum}).encode())
        del array
    # copy on write: torch wants writable memory, and nothing anyone writes reaches the file
    return np.asarray(np.load(file, mmap_mode="c"))


def _state(folder: Path, count: int, width: int) -> tuple[int, int]:
    """(whole rows on disk, their checksum); (0, 0) if the file is absent or damaged."""
    try:
        state = json.loads((folder / "state.json").read_text())
        done, checksum = int(state["done"]), int(state["checksum"])
        array = np.load(folder / "features.npy", mmap_mode="r")
        whole = array.shape == (count, width) and array.dtype == np.float32 and (done == count or done % BLOCK == 0)
        return (done, checksum) if whole and zlib.crc32(array[:done].data) == checksum else (0, 0)
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return 0, 0
