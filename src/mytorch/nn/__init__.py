"""torch.nn on NumPy: layers, their functional forms, initialisation and gradient clipping."""

from typing import Any

from mytorch.dtypes import unsupported

from . import functional, init, utils
from .modules import *  # noqa: F403
from .modules import __all__ as _layers
from .parameter import Parameter

__all__ = [*_layers, "Parameter", "functional", "init", "utils"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise unsupported(f"torch.nn.{name}")
