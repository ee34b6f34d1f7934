"""Learning-rate schedules with torch's numbers."""

from typing import Any

from mytorch.dtypes import unsupported

from .decay import CosineAnnealingLR, ExponentialLR, LambdaLR, LinearLR, MultiStepLR, StepLR
from .onecycle import OneCycleLR
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler

__all__ = [
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "ReduceLROnPlateau",
    "StepLR",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise unsupported(f"torch.optim.lr_scheduler.{name}")
