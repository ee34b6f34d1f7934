"""torch.optim on NumPy."""

from typing import Any

from mytorch.dtypes import unsupported

from . import lr_scheduler
from .adadelta import Adadelta
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = ["SGD", "Adadelta", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise unsupported(f"torch.optim.{name}")
