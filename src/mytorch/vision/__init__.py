"""torchvision on NumPy alone: data sets, transforms, small models and grids of images."""

from typing import Any

from mytorch import datasets, transforms
from mytorch.absent import is_absent
from mytorch.absent import module as absent_module
from mytorch.dtypes import unsupported

from . import models, utils

__version__ = "0.28.0+mytorch"
__all__ = ["datasets", "models", "transforms", "utils"]


def set_image_backend(backend: str) -> None:
    """Does nothing: there is no choice of backends."""


def get_image_backend() -> str:
    return "PIL"


def __getattr__(name: str) -> Any:
    if is_absent(f"torchvision.{name}"):
        return absent_module(f"torchvision.{name}")
    raise unsupported(f"torchvision.{name}")
