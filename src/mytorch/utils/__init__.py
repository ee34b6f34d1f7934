"""torch.utils: data and other modules that scripts import. The rest is imported when it is asked for."""

import importlib
from typing import Any

from mytorch.absent import is_absent
from mytorch.absent import module as absent_module
from mytorch.dtypes import unsupported

from . import data

__all__ = ["data"]


def __getattr__(name: str) -> Any:
    if name in ("benchmark", "checkpoint", "dlpack", "tensorboard"):
        return importlib.import_module(f"mytorch.utils.{name}")
    if is_absent(f"torch.utils.{name}"):
        return absent_module(f"torch.utils.{name}")
    raise unsupported(f"torch.utils.{name}")
