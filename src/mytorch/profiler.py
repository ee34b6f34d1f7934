"""torch.profiler: record_function does nothing; creating a profiler raises an error."""

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
