"""How many threads a matrix product uses: read from, and set in, the OpenBLAS that comes with NumPy."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@cache
def _openblas() -> tuple[Any, Any] | None:
    """The library's functions to get and set the number of threads, if this NumPy comes with OpenBLAS."""
    for path in (Path(np.__file__).parent.parent / "numpy.libs").glob("*openblas*"):
        library = ctypes.CDLL(str(path))
        for prefix, suffix in (("scipy_", "64_"), ("scipy_", ""), ("", "64_"), ("", "")):
            name = f"{prefix}openblas_%s_num_threads{suffix}"
            if hasattr(library, name % "get"):
                return getattr(library, name % "get"), getattr(library, name % "set")
    return None


def get_num_threads() -> int:
    functions = _openblas()
    if functions is not None:
        return int(functions[0]())
    return int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)


def set_num_threads(number: int) -> None:
    """Without OpenBLAS nothing is set here; the BLAS in use has an environment variable for it."""
    if number < 1:
        raise RuntimeError(f"set_num_threads expects a positive integer, but got {number}")
    functions = _openblas()
    if functions is not None:
        functions[1](number)
