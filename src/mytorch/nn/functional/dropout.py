"""Dropout of single values and of whole channels."""

from __future__ import annotations

import numpy as np

from mytorch import random
from mytorch.autograd import record
from mytorch.ops.inplace import apply
from mytorch.tensor import Tensor

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def keep_mask(shape: tuple[int, ...], p: float) -> np.ndarray:
    """True with probability 1 - p (to 1/65536: sixteen random bits decide, twice as fast as a float)."""
    bits = random.numpy_generator(None).integers(0, 1 << 16, shape, np.uint16)
    return bits >= round(p * (1 << 16))


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each value with probability p and scale the rest by 1 / (1 - p)."""
    return _dropped(input, p, training, inplace, input._array.shape)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of (N, C, L) or (C, L)."""
    _check_rank(input, "dropout1d", 2)
    return _dropped(input, p, training, inplace, _channels(input, 2))


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of (N, C, H, W); of (N, C, L) too, as in torch."""
    return _dropped(input, p, training, inplace, _channels(input, 0))


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    return _dropped(input, p, training, inplace, _channels(input, 4))


def _check_rank(input: Tensor, name: str, rank: int) -> None:
    if input.ndim not in (rank, rank + 1):
        raise RuntimeError(
            f"{name}: Expected {rank}D or {rank + 1}D input, but received a {input.ndim}D input: reshape it"
        )


def _channels(input: Tensor, unbatched: int) -> tuple[int, ...]:
    """One number per channel; input of `unbatched` dims has no batch."""
    shape = input._array.shape
    lead = 1 if len(shape) == unbatched else 2
    return shape[:lead] + (1,) * (len(shape) - lead)


def _probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropped(input: Tensor, p: float, training: bool, inplace: bool, mask_shape: tuple[int, ...]) -> Tensor:
    _probability(p)
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
    return record(
        dropout_backward(input._array)[0], (input,), dropout_backward, forward=lambda x: dropout_backward(x)[0]
    )


_SATURATION = -1.7580993408473766  # what SELU gives far below zero


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropped values become SELU's lowest, and the rest is scaled so that mean and variance stay."""
    return _alpha(input, p, training, inplace, input._array.shape)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels."""
    return _alpha(input, p, training, inplace, _channels(input, 0))


def _alpha(input: Tensor, p: float, training: bool, inplace: bool, mask_shape: tuple[int, ...]) -> Tensor:
    _probability(p)
    if not training or p == 0:
        return input
    if inplace:
        return apply(input, _alpha, (p, training, False, mask_shape), {})
    if p == 1:
        return input * 0.0
    kind = input._array.dtype
    keep = keep_mask(mask_shape, p).astype(kind)
    scale = ((1 - p) * (1 + p * _SATURATION**2)) ** -0.5
    shift = Tensor(np.asarray((1 - keep) * (_SATURATION * scale) - scale * p * _SATURATION, kind))
    return input * Tensor(keep * kind.type(scale)) + shift
