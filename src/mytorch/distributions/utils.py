"""torch.distributions.utils: what authors of distributions take from torch."""

from __future__ import annotations

import functools

import numpy as np

from mytorch.nn.functional import softmax
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
