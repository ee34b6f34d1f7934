"""torch._C, torch's part in C++: there is none here. What libraries call at import only to be counted does nothing."""

from __future__ import annotations

from typing import Any

from .absent import names_in


def _log_api_usage_once(*args: Any) -> None:
    """Nothing is counted."""


__getattr__ = names_in("torch._C")
