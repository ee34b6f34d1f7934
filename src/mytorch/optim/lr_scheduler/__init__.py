"""Learning-rate schedules with torch's numbers."""

from typing import Any

from mytorch.dtypes import unsupported

from .combined import ChainedScheduler, SequentialLR
from .cycle import CosineAnnealingWarmRestarts, CyclicLR
from .decay import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from .onecycle import OneCycleLR
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler

_LRScheduler = LRScheduler  # its older name

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise unsupported(f"torch.optim.lr_scheduler.{name}")
