"""Conv2d and ConvTranspose2d."""

from __future__ import annotations

import math
from typing import Any

from mytorch.creation import empty
from mytorch.nn import functional as F
from mytorch.nn import init
from mytorch.nn.parameter import Parameter
from mytorch.tensor import Tensor

from .module import Module


def pair(value: Any) -> tuple:
    return (value, value) if isinstance(value, int) else tuple(value)


class _Conv(Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        dilation: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        transposed: bool,
        dtype: Any,
    ):
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode != "zeros":
            raise NotImplementedError(f"mytorch has padding_mode='zeros' only, but got {padding_mode!r}")
        if isinstance(padding, str) and padding not in ("valid", "same"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'valid', 'same'")
        if padding == "same" and pair(stride) != (1, 1):
            raise ValueError("padding='same' is not supported for strided convolutions")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.dilation = pair(kernel_size), pair(stride), pair(dilation)
        self.padding: Any = padding if isinstance(padding, str) else pair(padding)
        self.output_padding, self.groups = pair(output_padding), groups
        self.padding_mode, self.transposed = padding_mode, transposed
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(empty((first, second // groups, *self.kernel_size), dtype=dtype))
        self.register_parameter("bias", Parameter(empty((out_channels,), dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            init.fan_in_uniform_(self.bias, self.weight)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        # torch compares the string 'same' with a tuple too, and so prints it.
        for name, default in (
            ("padding", (0, 0)),
            ("dilation", (1, 1)),
            ("output_padding", (0, 0)),
            ("groups", 1),
        ):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text if self.bias is not None else text + ", bias=False"


class Conv2d(_Conv):
    """2-D cross-correlation; weight is (out, in/groups, kh, kw)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            0,
            dilation,
            groups,
            bias,
            padding_mode,
            False,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class ConvTranspose2d(_Conv):
    """The gradient of Conv2d as a layer; weight is (in, out/groups, kh, kw)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            bias,
            padding_mode,
            True,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        if output_size is not None:
            raise NotImplementedError("mytorch has no output_size in ConvTranspose2d: give output_padding instead")
        return F.conv_transpose2d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.groups,
            self.dilation,
        )
