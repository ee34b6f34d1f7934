"""torch.hub: nothing is downloaded, but scripts take tqdm from here."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator
from typing import Any

from .absent import names_in

__getattr__ = names_in("torch.hub")

try:
    tqdm = importlib.import_module("tqdm").tqdm  # where it is installed
except ImportError:

    class tqdm:  # type: ignore[no-redef]
        """The items as they come, without a bar."""

        def __init__(self, iterable: Iterable = (), *args: Any, **kwargs: Any):
            self.iterable = iterable

        def __iter__(self) -> Iterator:
            return iter(self.iterable)

        def _nothing(self, *args: Any, **kwargs: Any) -> None:
            """There is no bar to change."""

        set_description = set_postfix = set_postfix_str = update = close = refresh = _nothing

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *exc: Any) -> None:
            """Nothing to close."""


def get_dir() -> str:
    """Where torch would keep downloads."""
    return os.path.join(os.environ.get("TORCH_HOME") or os.path.expanduser("~/.cache/torch"), "hub")
