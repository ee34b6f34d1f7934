"""Convolutions over one, two and three dimensions, and their transposes."""

from __future__ import annotations

import math
from typing import Any

from mytorch.creation import empty
from mytorch.nn import functional as F
from mytorch.nn import init
from mytorch.nn.parameter import Parameter
from mytorch.tensor import Tensor

from .module import Module

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


def repeated(value: Any, count: int) -> tuple:
    """One number for all dimensions, or one number per dimension."""
    return (value,) * count if isinstance(value, int) else tuple(value)


class _ConvNd(Module):
    """weight is (out, in/groups, *kernel), transposed (in, out/groups, *kernel); starts uniform within ±1/√fan_in."""

    rank: int  # how many dimensions an image has
    transposed = False

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
        dtype: Any,
    ):
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                "padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, "
                f"but got padding_mode='{padding_mode}'"
            )
        if self.transposed and padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        if isinstance(padding, str) and padding not in ("valid", "same"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'valid', 'same'")
        count = self.rank
        if padding == "same" and repeated(stride, count) != (1,) * count:
            raise ValueError("padding='same' is not supported for strided convolutions")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = repeated(kernel_size, count), repeated(stride, count)
        self.dilation, self.output_padding = repeated(dilation, count), repeated(output_padding, count)
        self.padding: Any = padding if isinstance(padding, str) else repeated(padding, count)
        self.groups, self.padding_mode = groups, padding_mode
        self._make_parameters(bias, dtype)

    def _make_parameters(self, bias: bool, dtype: Any) -> None:
        channels = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        shape = (channels[0], channels[1] // self.groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, dtype=dtype))
        self.register_parameter("bias", Parameter(empty((self.out_channels,), dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            init.fan_in_uniform_(self.bias, self.weight)

    def forward(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._edges(), mode=self.padding_mode)
            padding = 0
        conv = getattr(F, f"conv{self.rank}d")
        return conv(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def _edges(self) -> list[int]:
        """The padding as F.pad takes it: the last dimension first, before and after."""
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            return [edge for total in reversed(totals) for edge in (total // 2, total - total // 2)]
        sides = (0,) * self.rank if self.padding == "valid" else self.padding
        return [edge for side in reversed(sides) for edge in (side, side)]

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        # torch compares the string 'same' with a tuple too, and so prints it.
        zeros = (0,) * self.rank
        defaults = {"padding": zeros, "dilation": (1,) * self.rank, "output_padding": zeros, "groups": 1}
        for name, default in defaults.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        text += "" if self.bias is not None else ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class _Forward(_ConvNd):
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
        sizes = (in_channels, out_channels, kernel_size, stride, padding, 0, dilation)
        super().__init__(*sizes, groups, bias, padding_mode, dtype)


class _Transposed(_ConvNd):
    transposed = True

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
        sizes = (in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation)
        super().__init__(*sizes, groups, bias, padding_mode, dtype)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        conv = getattr(F, f"conv_transpose{self.rank}d")
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        return conv(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    def _extra(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The output padding that gives the requested size: inputs of several sizes have outputs of the same size."""
        wanted = tuple(output_size)[-self.rank :]
        shape = tuple(input.shape)[-self.rank :]
        places = zip(shape, self.stride, self.padding, self.dilation, self.kernel_size)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in places]
        for size, low, step in zip(wanted, least, self.stride):
            if not low <= size < low + step:
                raise ValueError(
                    f"requested an output size of {wanted}, but valid sizes range from {least} to "
                    f"{[a + s - 1 for a, s in zip(least, self.stride)]} (for an input of {shape})"
                )
        return tuple(size - low for size, low in zip(wanted, least))


class Conv1d(_Forward):
    rank = 1


class Conv2d(_Forward):
    rank = 2


class Conv3d(_Forward):
    rank = 3


class ConvTranspose1d(_Transposed):
    """The gradient of Conv1d as a layer."""

    rank = 1


class ConvTranspose2d(_Transposed):
    """The gradient of Conv2d as a layer."""

    rank = 2


class ConvTranspose3d(_Transposed):
    """The gradient of Conv3d as a layer."""

    rank = 3
