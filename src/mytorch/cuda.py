"""torch.cuda, answered truthfully: there is none."""

from __future__ import annotations

from typing import Any

from .dtypes import unsupported


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


def is_initialized() -> bool:
    return False


def is_bf16_supported() -> bool:
    return False


def manual_seed(seed: int) -> None:
    """Nothing to seed; scripts call it without asking."""


def manual_seed_all(seed: int) -> None:
    """Nothing to seed; scripts call it without asking."""


def empty_cache() -> None:
    """Nothing to empty."""


def synchronize(device: Any = None) -> None:
    raise AssertionError("Torch not compiled with CUDA enabled: mytorch runs on the CPU")


def __getattr__(name: str) -> Any:
    raise unsupported(f"torch.cuda.{name}")
