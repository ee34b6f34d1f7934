"""mytorch: torch's interface on NumPy alone. An unmodified script in its range gives the same numbers."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from . import autograd, backends, creation, cuda, dtypes, ops, random
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .dtypes import (
    Size,
    device,
    dtype,
    finfo,
    get_default_dtype,
    iinfo,
    set_default_dtype,
    unsupported,
)
from .printing import set_printoptions
from .random import Generator
from .tensor import Tensor

__version__ = "2.13.0+mytorch"

# torch.float32, torch.long ...; torch.float, torch.int and torch.bool are dtypes too
globals().update({d.name: d for d in dtypes.ALL})
half, double, short, long = dtypes.half, dtypes.double, dtypes.short, dtypes.long
float, int, strided = dtypes.float32, dtypes.int32, "torch.strided"
contiguous_format, channels_last, preserve_format = "contiguous", "channels_last", "preserve"
inf, nan, pi, e = (ops.inf, ops.nan, ops.pi, ops.e)

# every operation by its name, as a function of the package
globals().update(ops.FUNCTIONS)
for _module in (creation, random):
    globals().update(
        {name: f for name, f in vars(_module).items() if getattr(f, "__module__", "") == _module.__name__}
    )

_LAZY = ("nn", "optim", "utils", "datasets", "transforms", "compat", "serialization")


def is_tensor(obj: Any) -> bool:  # type: ignore[valid-type]
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:  # type: ignore[valid-type]
    return input.is_floating_point()


def numel(input: Tensor) -> int:  # type: ignore[valid-type]
    return input.numel()


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"mytorch.{name}")
    if name in ("save", "load"):
        return getattr(importlib.import_module("mytorch.serialization"), name)
    raise unsupported(f"torch.{name}")
