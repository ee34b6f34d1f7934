"""Reading foreign pickles without running them: only named, harmless constructors are admitted.

pickle_budget looks at each before it is read: one that would take too much time or memory is refused.
"""

from __future__ import annotations

import functools
import pickle
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import IO, Any

import numpy as np

from mytorch import pickle_budget


class RefusedPickle(pickle.UnpicklingError, ValueError):
    """The file names something other than arrays and plain containers, or is built to do harm."""


def _latin1(text: str, encoding: str = "latin1") -> bytes:
    """Old pickle protocols write bytes in this way."""
    if encoding != "latin1":
        raise RefusedPickle(f"bytes in a pickle are latin1, but got {encoding!r}: the file is refused")
    return text.encode("latin1")


class _Kind:
    """A plain numeric type in NumPy's place of `dtype`: what a pickle may say about one, and no more."""

    def __init__(self, name: Any, *_: Any):
        text = name.decode("latin1") if isinstance(name, bytes) else str(name)
        if re.fullmatch(r"[fiub]\d+", text) is None:
            raise RefusedPickle(f"a file of arrays holds numbers, but this one holds the type {text!r}")
        self.dtype = np.dtype(text)

    def __setstate__(self, state: tuple) -> None:
        order = state[1].decode("latin1") if isinstance(state[1], bytes) else str(state[1])
        if order in ("<", ">"):
            self.dtype = self.dtype.newbyteorder(order)  # type: ignore[arg-type]


class _Array(np.ndarray):
    """An array being read. Only bytes and a plain type reach NumPy's own __setstate__."""

    def __setstate__(self, state: tuple) -> None:  # type: ignore[override]
        _, shape, kind, fortran, raw = state
        if not isinstance(kind, _Kind) or not isinstance(raw, bytes | bytearray):
            raise RefusedPickle(f"an array is its bytes and a numeric type, but got {type(raw).__name__}")
        if byte_count(shape, kind.dtype) != len(raw):
            raise RefusedPickle(f"an array of {shape} {kind.dtype} must have as many bytes, but has {len(raw)}")
        checked: Any = (1, tuple(shape), kind.dtype, bool(fortran), bytes(raw))
        super().__setstate__(checked)


def byte_count(shape: Any, kind: np.dtype) -> int:
    """The number of bytes, in Python's integers, which do not overflow."""
    total = kind.itemsize
    for length in shape:
        if not isinstance(length, int) or length < 0:
            raise RefusedPickle(f"sizes are whole numbers of at least 0, but got {shape}")
        total *= length
    return total


def _empty(*_: Any) -> _Array:
    return np.ndarray.__new__(_Array, (0,), np.int8)


def _scalar(kind: _Kind, raw: bytes) -> np.generic:
    return np.frombuffer(raw, kind.dtype)[0]


def _from_buffer(buffer: Any, kind: _Kind, shape: tuple, order: str) -> np.ndarray:
    """Protocol 5 writes an array as its buffer."""
    return np.frombuffer(buffer, kind.dtype).reshape(shape, order="F" if order == "F" else "C").copy()


# The names NumPy 1 and 2 write into the pickle of an array, and our own constructors in their place.
ARRAYS: Mapping[tuple[str, str], Any] = {
    ("numpy", "ndarray"): None,  # only ever handed to _empty, never to be called
    ("numpy", "dtype"): _Kind,
    ("_codecs", "encode"): _latin1,
    ("collections", "OrderedDict"): OrderedDict,
    **{(f"{core}.multiarray", "_reconstruct"): _empty for core in ("numpy.core", "numpy._core")},
    **{(f"{core}.multiarray", "scalar"): _scalar for core in ("numpy.core", "numpy._core")},
    **{(f"{core}.numeric", "_frombuffer"): _from_buffer for core in ("numpy.core", "numpy._core")},
}

_Base: Any = pickle._Unpickler  # type: ignore[attr-defined]  # in Python: what it does can be read


class ArrayUnpickler(_Base):
    """An unpickler that knows the given names and no others; nothing in the file can call anything else."""

    checked = True  # whether the cost is looked at first

    def __init__(
        self,
        file: IO[bytes],
        names: Mapping[tuple[str, str], Any] = ARRAYS,
        storage: Callable[[Any], Any] | None = None,
        encoding: str = "ASCII",
    ):
        super().__init__(file, encoding=encoding)
        self.names, self.storage, self._file = names, storage, file

    def load(self) -> Any:
        if self.checked:
            start = self._file.tell()
            try:
                pickle_budget.check(self._file)
            except pickle_budget.TooCostly as error:
                raise RefusedPickle(str(error)) from None
            self._file.seek(start)
        return super().load()

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.names:
            raise RefusedPickle(
                "a file of arrays names only arrays and plain containers, but this one names "
                f"'{module}.{name}': it is refused and nothing in it was run"
            )
        allowed = self.names[module, name]
        # A pickle may set attributes of what it is given, so it is given a wrapper of its own.
        return functools.partial(allowed) if callable(allowed) else allowed

    def persistent_load(self, key: Any) -> Any:
        if self.storage is None:
            raise RefusedPickle(
                f"a file of arrays holds no outside references, but this one refers to a {type(key).__name__}"
            )
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
