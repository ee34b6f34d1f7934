"""torch.nn on NumPy: layers, their functional forms, initialisation and gradient clipping."""

from typing import Any

from mytorch.dtypes import unsupported

from . import functional, init, parallel, utils
from .modules import *  # noqa: F403
from .modules import __all__ as _layers
from .modules.numpy_lab import SimpleSoftmax, sigmoid  # not torch's: see docs/mytorch.md
from .parallel import DataParallel
from .parameter import Buffer, Parameter

__all__ = [
    *_layers,
    "Buffer",
    "DataParallel",
    "Parameter",
    "SimpleSoftmax",
    "functional",
    "init",
    "parallel",
    "sigmoid",
    "utils",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise unsupported(f"torch.nn.{name}")
