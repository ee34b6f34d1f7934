"""torch.accelerator for a machine without one: is_available() is False."""

from __future__ import annotations

from typing import Any

from .dtypes import unsupported


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


def current_accelerator(check_available: bool = False) -> None:
    return None


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise unsupported(f"torch.accelerator.{name}")
