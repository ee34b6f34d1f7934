"""The arrays of an .npz file, each read when it is asked for; large ones block by block. Nothing in it is executed."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np

from replab.errors import RunError
from replab.records.record import check_sizes, header

BLOCK = 2**22  # numbers of a block: 32 MiB in float64

T = TypeVar("T")


class Arrays(Mapping[str, np.ndarray]):
    """name → array. `what` names the file in errors."""

    def __init__(self, path: Path, what: str):
        self.path, self.what = path, what
        self._names = self._reading(self._listed)
        self._read: dict[str, np.ndarray] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = self._reading(lambda: self._loaded(name))
        return self._read[name]

    def blocks(self, name: str) -> Iterator[np.ndarray]:
        """The array's rows, a block at a time: never all in memory."""
        rows = self._rows(name)
        while (block := self._reading(lambda: next(rows, None))) is not None:
            yield block

    def _listed(self) -> list[str]:
        check_sizes(self.path)
        with zipfile.ZipFile(self.path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]

    def _loaded(self, name: str) -> np.ndarray:
        with np.load(self.path, allow_pickle=False) as file:
            return np.asarray(file[name])

    def _rows(self, name: str) -> Iterator[np.ndarray]:
        with zipfile.ZipFile(self.path) as archive, archive.open(f"{name}.npy") as file:
            shape, fortran, dtype = header(file)
            if dtype.hasobject or fortran or not shape:
                raise ValueError(f"{name} is not a plain array with rows")
            width = int(np.prod(shape[1:], dtype=object)) or 1
            step, left = max(1, BLOCK // width), shape[0]
            while left > 0:
                size = min(step, left)
                data = file.read(size * width * dtype.itemsize)
                yield np.frombuffer(data, dtype).reshape(size, *shape[1:])
                left -= size

    def _reading(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except FileNotFoundError:
            raise RunError(f"{self.what} is missing") from None
        except Exception as error:  # zip, zlib, NumPy and the operating system each have their own
            raise RunError(f"{self.what} is corrupt ({error})") from None
