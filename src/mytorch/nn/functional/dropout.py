"""Dropout of single values and of whole channels."""

from __future__ import annotations

import numpy as np

from mytorch import random
from mytorch.autograd import record
from mytorch.ops.inplace import apply
from mytorch.tensor import Tensor


def keep_mask(shape: tuple[int, ...], p: float) -> np.ndarray:
    """True with probability 1 - p (to 1/65536: sixteen random bits decide, twice as fast as a float)."""
    bits = random.numpy_generator(None).integers(0, 1 << 16, shape, np.uint16)
    return bits >= round(p * (1 << 16))


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each value with probability p and scale the rest by 1 / (1 - p)."""
    return _dropped(input, p, training, inplace, input._array.shape)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of (N, C, H, W)."""
    shape = input._array.shape
    return _dropped(input, p, training, inplace, shape[:2] + (1,) * (len(shape) - 2))


def _dropped(input: Tensor, p: float, training: bool, inplace: bool, mask_shape: tuple[int, ...]) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    if inplace:
        return apply(input, _dropped, (p, training, False, mask_shape), {})
    keep, scale = keep_mask(mask_shape, p), 0.0 if p == 1 else 1.0 / (1.0 - p)

    def dropout_backward(g: np.ndarray) -> tuple[np.ndarray]:
        g = g * keep
        g *= scale
        return (g,)

    # It is linear: its derivative is itself.
    return record(dropout_backward(input._array)[0], (input,), dropout_backward)
