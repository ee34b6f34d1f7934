"""Changing a whole Module at once: training mode, gradients on or off or cleared, and dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from mytorch import dtypes
from mytorch.tensor import Tensor

if TYPE_CHECKING:
    pass

Self = TypeVar("Self", bound="Conversion")


class Conversion:
    """The part of Module that switches or converts every tensor below it."""

    training: bool
    if TYPE_CHECKING:  # given by Traversal

        def children(self) -> Any: ...
        def parameters(self, recurse: bool = True) -> Any: ...
        def buffers(self, recurse: bool = True) -> Any: ...

    def train(self: Self, mode: bool = True) -> Self:
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, but got {mode!r}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: Self) -> Self:
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad = Tensor(np.zeros_like(parameter.grad._array))

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """`to(dtype)`, `to(device)`, `to(device, dtype)` or `to(tensor)`; there is one device, the CPU."""
        dtype = kwargs.get("dtype")
        for value in (*args, kwargs.get("device")):
            if isinstance(value, Tensor):
                dtype = value.dtype
            elif value is None or isinstance(value, bool):  # non_blocking
                continue
            elif isinstance(value, str | dtypes.device):
                dtypes.require_cpu(value)
            else:
                dtype = value
        if dtype is not None:
            self._cast(dtype)
        return self

    def _cast(self, dtype: Any) -> None:
        target = dtypes.to_numpy(dtype)
        if target.kind != "f":
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def cast(tensor: Tensor) -> Tensor:
            floats = tensor._array.dtype.kind == "f"
            return Tensor(tensor._array.astype(target, copy=False)) if floats else tensor

        self._apply(cast)

    def _apply(self: Self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Every tensor replaced by fn of it. The object stays the same, so that optimisers keep working with it."""
        for module in self.children() if recurse else ():
            module._apply(fn)
        for tensor in (*self.parameters(recurse=False), *self.buffers(recurse=False)):
            tensor._array = fn(tensor.detach())._array
            if tensor.grad is not None:
                tensor.grad = fn(tensor.grad)
        return self

    def type(self: Self, dst_type: Any) -> Self:
        from mytorch.legacy import dtype_of

        return self.to(dtype_of(dst_type))

    def float(self: Self) -> Self:
        self._cast(dtypes.float32)
        return self

    def double(self: Self) -> Self:
        self._cast(dtypes.float64)
        return self

    def to_empty(self: Self, *, device: Any, recurse: bool = True) -> Self:
        """As it is: nothing is promised about the values."""
        dtypes.require_cpu(device)
        return self

    def cpu(self: Self) -> Self:
        return self

    def cuda(self: Self, device: Any = None) -> Self:
        dtypes.require_cpu("cuda")
        return self

    def half(self: Self) -> Self:
        self._cast(dtypes.float16)
        return self

    def bfloat16(self: Self) -> Self:
        self._cast(dtypes.bfloat16)
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Nothing to compile."""

    def share_memory(self: Self) -> Self:
        """The module itself: threads share it already, and processes are not started."""
        return self
