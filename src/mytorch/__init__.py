"""mytorch: torch's interface on NumPy alone. An unmodified script in its range gives the same numbers."""

from __future__ import annotations

from typing import Any

from . import autograd
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .creation import *  # noqa: F403
from .dtypes import *  # noqa: F403
from .dtypes import Size, device, dtype, finfo, iinfo, unsupported
from .dtypes import bool_ as bool
from .dtypes import float32 as float
from .dtypes import int32 as int
from .ops import elementwise, index, linalg, pointwise, reduce, shape
from .tensor import Tensor

for _module in (elementwise, index, linalg, pointwise, reduce, shape):
    for _table in (_module.METHODS, getattr(_module, "FUNCTIONS", {})):
        globals().update({k: f for k, f in _table.items() if not k.startswith("__")})


def __getattr__(name: str) -> Any:
    raise unsupported(f"torch.{name}")
