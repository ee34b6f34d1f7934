"""torch.distributed: one process only, so nothing is available and everything else is refused when used."""

from __future__ import annotations

from mytorch.absent import names_in


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def is_torchelastic_launched() -> bool:
    return False


__getattr__ = names_in("torch.distributed")
