"""Layers that pad an input: with zeros, a constant, its mirror image, its edge, or its opposite end."""

from __future__ import annotations

from typing import Any

from mytorch.nn import functional as F
from mytorch.tensor import Tensor

from .module import Module

__all__ = [
    f"{kind}Pad{rank}d" for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero") for rank in (1, 2, 3)
]


class _Pad(Module):
    """padding is one number, or (left, right, top, bottom, front, back) as far as there are dimensions."""

    rank: int
    mode: str

    def __init__(self, padding: Any):
        super().__init__()
        self.padding = (padding,) * (2 * self.rank) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: Any, value: float):
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any):
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPad):
    rank = 1


class ConstantPad2d(_ConstantPad):
    rank = 2


class ConstantPad3d(_ConstantPad):
    rank = 3


class ZeroPad1d(_ZeroPad):
    rank = 1


class ZeroPad2d(_ZeroPad):
    rank = 2


class ZeroPad3d(_ZeroPad):
    rank = 3


class ReflectionPad1d(_Pad):
    rank, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    rank, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    rank, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    rank, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    rank, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    rank, mode = 3, "replicate"


class CircularPad1d(_Pad):
    rank, mode = 1, "circular"


class CircularPad2d(_Pad):
    rank, mode = 2, "circular"


class CircularPad3d(_Pad):
    rank, mode = 3, "circular"
