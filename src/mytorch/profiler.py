"""torch.profiler: record_function marks nothing; the profiler itself is refused when it is made."""

from __future__ import annotations

import contextlib
from typing import Any

from .absent import names_in


class record_function(contextlib.ContextDecorator):
    def __init__(self, name: str, args: Any = None):
        self.name = name

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None


__getattr__ = names_in("torch.profiler")
