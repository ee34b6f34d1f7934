"""torch.distributions.utils: functions for writing distributions of one's own."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mytorch.nn.functional import softmax
from mytorch.random import randn
from mytorch.tensor import Tensor

from .distribution import broadcast_all

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits"]

lazy_property = functools.cached_property


def clamp_probs(probs: Tensor) -> Tensor:
    """Away from 0 and 1, where the logarithms are infinite."""
    eps = float(np.finfo(probs._array.dtype).eps)
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    return logits.sigmoid() if is_binary else softmax(logits, -1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


def _standard_normal(shape: Any, dtype: Any, device: Any = None) -> Tensor:
    return randn(*shape, dtype=dtype)


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The last `dim` dimensions added up."""
    return value if dim == 0 else value.reshape(*value.shape[:-dim], -1).sum(-1)
