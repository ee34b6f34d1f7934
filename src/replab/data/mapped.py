"""Images that stay on disk: a mapped file of pixels, read row by row, for sets larger than memory.

Whether a set is read this way changes no number: the same images come in the same batches.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from replab import files
from replab.errors import DataError

COPIES = 2  # of a set in memory, at most: those of a split, and those with channels innermost
AHEAD = 3  # batches that are gathered before they are asked for
BLOCK = 1024  # images that are read at once where all are wanted

Key = TypeVar("Key")
Made = TypeVar("Made")


class Mapped:
    """Pixels (N, C, H, W) of a file, or of some of its rows. Indexing reads images; `rows` only notes which."""

    dtype, ndim = np.dtype(np.uint8), 4

    def __init__(self, file: np.ndarray, index: np.ndarray | None = None):
        self.file = file
        self.index = np.arange(len(file)) if index is None else index

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.index), *self.file.shape[1:])

    @property
    def nbytes(self) -> int:
        return len(self.index) * self.file[:1].nbytes

    def __len__(self) -> int:
        return len(self.index)

    def rows(self, index: np.ndarray | slice) -> Mapped:
        return Mapped(self.file, self.index[index])

    def __getitem__(self, key: Any) -> np.ndarray:
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
        chosen = self.index[first]
        pixels = self.file[chosen]
        return pixels[(slice(None),) * np.ndim(chosen) + rest] if rest else pixels

    def __iter__(self) -> Iterator[np.ndarray]:
        for start in range(0, len(self), BLOCK):
            yield from self[start : start + BLOCK]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.file[self.index].astype(dtype or self.dtype, copy=False)

    def reshape(self, *shape: Any) -> np.ndarray:
        """All of them, in memory: for the few that were taken out of a large set."""
        return np.asarray(self).reshape(*shape)


def rows(pixels: np.ndarray | Mapped, index: np.ndarray | slice) -> Any:
    """Some images, without reading any that stay on disk."""
    return pixels.rows(index) if isinstance(pixels, Mapped) else pixels[index]


def placed(pixels: np.ndarray) -> Any:
    """These pixels as they are, where training on them in memory is possible; else Mapped."""
    return pixels if fits(pixels.nbytes) else Mapped(pixels)


def fits(size: int) -> bool:
    """Whether a set of so many bytes is held in memory."""
    return COPIES * size <= allowed()


def allowed() -> float:
    """Bytes that images may take in memory: $REPLAB_MEMORY, as 4G, or half of what is free now."""
    given = os.environ.get("REPLAB_MEMORY", "").strip().upper().removesuffix("B")
    if not given:
        return free() / 2
    unit = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}.get(given[-1], 1)
    try:
        return float(given.rstrip("KMGT")) * unit
    except ValueError:
        raise DataError(f"REPLAB_MEMORY must be a size as 4G or 500M, got {given!r}") from None


def free() -> float:
    """Bytes of memory that this process could still use; of all memory where the system does not say."""
    found = float("inf")
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = 1024.0 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    with contextlib.suppress(OSError, ValueError):  # a container's own limit; "max" where there is none
        own = Path("/sys/fs/cgroup")
        found = min(found, int((own / "memory.max").read_text()) - int((own / "memory.current").read_text()))
    if found == float("inf") and hasattr(os, "sysconf"):
        found = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return found


def room(shape: tuple[int, ...]) -> np.ndarray:
    """uint8 to be filled: in memory where it fits, else in a file of the cache that vanishes with the process."""
    size = int(np.prod(shape, dtype=np.int64))
    if fits(size):
        return np.empty(shape, np.uint8)
    try:
        folder = files.cache_root()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):  # room now, or an error now
                os.posix_fallocate(file.fileno(), 0, size)
            return np.asarray(np.memmap(file, np.uint8, "w+", shape=shape))
    except OSError as error:
        raise DataError(
            f"{shape[0]:,} images take {size / 1e9:.1f} GB, more than fits into memory or {folder}"
            f" ({error.strerror}); --size makes them smaller"
        ) from None


def new_file(path: Path, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """An .npy file to be filled in place. It has its room on the disk now, or there is an OSError now: a full disk
    later would kill the process."""
    path.unlink(missing_ok=True)
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def ahead(make: Callable[[Key], Made], keys: Iterable[Key]) -> Iterator[Made]:
    """make(key) of each key, in order, made by a thread a little before it is asked for."""
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(1) as pool:
        for key in keys:
            waiting.append(pool.submit(make, key))
            if len(waiting) > AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
