"""Batch, instance, layer, group and RMS norm: parameters and running statistics around the functional forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.creation import ones, zeros
from mytorch.nn import functional as F
from mytorch.nn import init
from mytorch.nn.parameter import Parameter
from mytorch.tensor import Tensor

from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Parameters and running statistics, one of each per channel."""

    ranks: tuple[int, ...]
    _version = 2  # 1 had no num_batches_tracked

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
        self._make_state(affine, affine and bias, dtype)

    def _make_state(self, weight: bool, bias: bool, dtype: Any) -> None:
        shape = (self.num_features,)
        self.register_parameter("weight", Parameter(ones(shape, dtype=dtype)) if weight else None)
        self.register_parameter("bias", Parameter(zeros(shape, dtype=dtype)) if bias else None)
        kept = self.track_running_stats
        self.register_buffer("running_mean", zeros(shape, dtype=dtype) if kept else None)
        self.register_buffer("running_var", ones(shape, dtype=dtype) if kept else None)
        self.register_buffer("num_batches_tracked", Tensor(np.array(0, np.int64)) if kept else None)

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *others: Any) -> None:
        key = f"{prefix}num_batches_tracked"
        if self.track_running_stats and (local_metadata.get("version") or 1) < 2 and key not in state_dict:
            state_dict[key] = Tensor(np.array(0, np.int64))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        _reset_affine(self)

    def _check_rank(self, input: Tensor) -> None:
        if input._array.ndim not in self.ranks:
            wanted = " or ".join(f"{rank}D" for rank in self.ranks)
            raise ValueError(f"expected {wanted} input (got {input._array.ndim}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    """Normalises each channel by the batch's statistics in training, by the running ones in eval.

    running = (1 - momentum) · running + momentum · batch, the variance unbiased; None averages all batches.
    """

    def forward(self, input: Tensor) -> Tensor:
        self._check_rank(input)
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


class BatchNorm1d(_BatchNorm):
    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch norm over the batches of all processes. There is one process, so this is ordinary batch norm."""

    ranks = (2, 3, 4, 5)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The model itself: in one process its BatchNorm layers already see the whole batch."""
        return module


class _InstanceNorm(_NormBase):
    """Normalises each channel of each sample by its own statistics; without parameters unless asked for (affine)."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype=dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_rank(input)
        alone = input._array.ndim == self.ranks[0]  # without a batch dimension
        x = input.unsqueeze(0) if alone else input
        if x.shape[1] != self.num_features and self.affine:
            raise ValueError(f"expected input's size at dim=1 to match num_features ({self.num_features})")
        own = self.training or not self.track_running_stats
        running = (self.running_mean, self.running_var)
        momentum = 0.0 if self.momentum is None else self.momentum
        out = F.instance_norm(x, *running, self.weight, self.bias, own, momentum, self.eps)
        return out.squeeze(0) if alone else out


class InstanceNorm1d(_InstanceNorm):
    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    ranks = (4, 5)


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


class RMSNorm(Module):
    """Divides by the root of the mean square over the last dimensions."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self.register_parameter("weight", Parameter(ones(shape, dtype=dtype)) if elementwise_affine else None)

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """Divides each value by a power of the mean square of the neighbouring channels."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


def _reset_affine(module: Any) -> None:
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)
