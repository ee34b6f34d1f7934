"""Reading foreign pickles without running them: only named, harmless constructors are admitted."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import IO, Any

import numpy as np


class RefusedPickle(pickle.UnpicklingError):
    """The file names something other than arrays and plain containers."""


def _latin1(text: str, encoding: str = "latin1") -> bytes:
    """How old protocols write bytes."""
    if encoding != "latin1":
        raise RefusedPickle(f"bytes in a pickle are latin1, but got {encoding!r}: the file is refused")
    return text.encode("latin1")


def _array_names() -> dict[tuple[str, str], Any]:
    """This NumPy's constructors of arrays, by the names that NumPy 1 and 2 write into a pickle."""
    rebuild: Any = np.empty(0).__reduce__()[0]
    scalar = np.float64(0).__reduce__()[0]
    names: dict[tuple[str, str], Any] = {("numpy", "ndarray"): np.ndarray, ("numpy", "dtype"): np.dtype}
    for core in ("numpy.core", "numpy._core"):
        names[f"{core}.multiarray", "_reconstruct"] = rebuild
        names[f"{core}.multiarray", "scalar"] = scalar
        names[f"{core}.numeric", "_frombuffer"] = _from_buffer
    names["_codecs", "encode"] = _latin1
    names["collections", "OrderedDict"] = OrderedDict
    return names


def _from_buffer(buffer: Any, dtype: np.dtype, shape: tuple, order: str) -> np.ndarray:
    """Protocol 5 writes an array as its buffer."""
    return np.frombuffer(buffer, dtype).reshape(shape, order=order).copy()  # type: ignore[call-overload]


ARRAYS: Mapping[tuple[str, str], Any] = _array_names()


class ArrayUnpickler(pickle.Unpickler):
    """An unpickler that knows the given names and no others; nothing in the file can call anything else."""

    def __init__(
        self,
        file: IO[bytes],
        names: Mapping[tuple[str, str], Any] = ARRAYS,
        storage: Callable[[Any], Any] | None = None,
        encoding: str = "ASCII",
    ):
        super().__init__(file, encoding=encoding)
        self.names, self.storage = names, storage

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.names:
            raise RefusedPickle(
                "a file of arrays names only arrays and plain containers, but this one names "
                f"'{module}.{name}': it is refused and nothing in it was run"
            )
        return self.names[module, name]

    def persistent_load(self, key: Any) -> Any:
        if self.storage is None:
            raise RefusedPickle(f"a file of arrays holds no outside references, but this one refers to {key!r}")
        return self.storage(key)


def read_arrays(file: IO[bytes], where: str, encoding: str = "ASCII") -> Any:
    """What a pickle of arrays and plain containers holds; for any other file, an error that says why."""
    try:
        value = ArrayUnpickler(file, encoding=encoding).load()
    except RefusedPickle as refused:
        raise RefusedPickle(f"{where}: {refused}") from None
    except Exception as error:
        # A damaged pickle can fail in any way (EOFError, ValueError, KeyError, ...).
        raise ValueError(
            f"{where} must be a pickle of arrays, but is damaged or of another kind ({error}): fetch it again"
        ) from None
    return value
