"""BatchNorm1d/2d, LayerNorm and GroupNorm: parameters and running statistics around the functional forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.creation import ones, zeros
from mytorch.nn import functional as F
from mytorch.nn import init
from mytorch.nn.parameter import Parameter
from mytorch.tensor import Tensor

from .module import Module


class _BatchNorm(Module):
    """Normalises each channel by the batch's statistics in training, by the running ones in eval.

    running = (1 - momentum) · running + momentum · batch, the variance unbiased; None averages all batches.
    """

    ranks: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        shape = (num_features,)
        self.register_parameter("weight", Parameter(ones(shape, dtype=dtype)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(shape, dtype=dtype)) if affine and bias else None)
        kept = track_running_stats
        self.register_buffer("running_mean", zeros(shape, dtype=dtype) if kept else None)
        self.register_buffer("running_var", ones(shape, dtype=dtype) if kept else None)
        self.register_buffer("num_batches_tracked", Tensor(np.array(0, np.int64)) if kept else None)

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        if input._array.ndim not in self.ranks:
            wanted = " or ".join(f"{rank}D" for rank in self.ranks)
            raise ValueError(f"expected {wanted} input (got {input._array.ndim}D input)")
        mean, var, factor = self.running_mean, self.running_var, self.momentum
        if self.training and mean is not None:
            count = self.num_batches_tracked
            count._array += 1
            if factor is None:
                factor = 1.0 / float(count._array)
        use_batch = self.training or mean is None
        return F.batch_norm(
            input, mean, var, self.weight, self.bias, use_batch, 0.0 if factor is None else factor, self.eps
        )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    ranks = (4,)


class LayerNorm(Module):
    """Normalises over the last dimensions, those of normalized_shape."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self.register_parameter("weight", Parameter(ones(shape, dtype=dtype)) if elementwise_affine else None)
        has_bias = elementwise_affine and bias
        self.register_parameter("bias", Parameter(zeros(shape, dtype=dtype)) if has_bias else None)

    def reset_parameters(self) -> None:
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class GroupNorm(Module):
    """Normalises groups of channels of each sample."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        shape = (num_channels,)
        self.register_parameter("weight", Parameter(ones(shape, dtype=dtype)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(shape, dtype=dtype)) if affine and bias else None)

    def reset_parameters(self) -> None:
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        affine = f"affine={self.affine}, bias={self.bias is not None}"
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, {affine}"


def _reset_affine(module: Any) -> None:
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)
