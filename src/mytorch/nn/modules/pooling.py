"""Pooling layers over the last one, two or three dimensions."""

from __future__ import annotations

from typing import Any

from mytorch.nn import functional as F
from mytorch.tensor import Tensor

from .module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _Pool(Module):
    """Calls the function named like the class: MaxPool2d calls F.max_pool2d."""

    function: str

    def _call(self, *args: Any) -> Any:
        return getattr(F, self.function)(*args)


class _MaxPool(_Pool):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        window = (self.kernel_size, self.stride, self.padding, self.dilation)
        return self._call(input, *window, self.ceil_mode, self.return_indices)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    function = "max_pool1d"


class MaxPool2d(_MaxPool):
    function = "max_pool2d"


class MaxPool3d(_MaxPool):
    function = "max_pool3d"


class _AvgPool(_Pool):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        window = (self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)
        return self._call(input, *window, self.divisor_override)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    function = "avg_pool1d"

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        for name in ("kernel_size", "stride", "padding"):
            value = getattr(self, name)
            setattr(self, name, (value,) if isinstance(value, int) else tuple(value))

    def forward(self, input: Tensor) -> Tensor:
        return self._call(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPool):
    function = "avg_pool2d"


class AvgPool3d(_AvgPool):
    function = "avg_pool3d"


class _Adaptive(_Pool):
    """Pools into a grid of a given size, whatever the input's."""

    def __init__(self, output_size: Any):
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:
        return self._call(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_Adaptive):
    function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_Adaptive):
    function = "adaptive_avg_pool3d"


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return self._call(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMax):
    function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMax):
    function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMax):
    function = "adaptive_max_pool3d"


class _LPPool(_Pool):
    """The p-th root of the sum of p-th powers."""

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return self._call(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    function = "lp_pool1d"


class LPPool2d(_LPPool):
    function = "lp_pool2d"


class LPPool3d(_LPPool):
    function = "lp_pool3d"


class _MaxUnpool(_Pool):
    """Puts values back where a max pooling found them, by its indices, with zeros elsewhere."""

    rank: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0):
        super().__init__()
        stride = kernel_size if stride is None else stride
        for name, value in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding)):
            setattr(self, name, (value,) * self.rank if isinstance(value, int) else tuple(value))

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return self._call(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    rank, function = 1, "max_unpool1d"


class MaxUnpool2d(_MaxUnpool):
    rank, function = 2, "max_unpool2d"


class MaxUnpool3d(_MaxUnpool):
    rank, function = 3, "max_unpool3d"


class _FractionalMaxPool(_Pool):
    """Max pooling with windows at random places; the output has a given size, or a given fraction of the input's."""

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ):
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Any:
        sizes = (self.kernel_size, self.output_size, self.output_ratio)
        return self._call(input, *sizes, self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    function = "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPool):
    function = "fractional_max_pool3d"
