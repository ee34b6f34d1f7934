"""torch.types: names for annotations."""

from __future__ import annotations

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from .dtypes import device as _device
from .dtypes import dtype as _dtype
from .tensor import Size, Tensor

Number = int | float | bool
Device = _device | str | int | None
DeviceLikeType = str | _device | int
FileLike = Any
PySymType = Number
Storage = Any
_size = Size | list[int] | tuple[int, ...]
_layout = str
_symsize = _size
_TensorOrTensors = Tensor | Sequence[Tensor]

__all__ = ["Device", "DeviceLikeType", "FileLike", "Number", "PySymType", "Storage", "_bool", "_complex", "_device"]
__all__ += ["_dtype", "_float", "_int", "_layout", "_size", "_symsize"]
