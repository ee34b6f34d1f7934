"""torch._C is torch's C++ part, which does not exist here. The usage counters that libraries call do nothing."""

from __future__ import annotations

from typing import Any

from .absent import names_in


def _log_api_usage_once(*args: Any) -> None:
    """Does nothing: usage is not counted."""


__getattr__ = names_in("torch._C")
