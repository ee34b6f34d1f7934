"""Scaling or clamping gradients in place before an optimiser's step."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from mytorch.tensor import Tensor


def _grads(parameters: Tensor | Iterable[Tensor]) -> list[np.ndarray]:
    each = [parameters] if isinstance(parameters, Tensor) else parameters
    return [parameter.grad._array for parameter in each if parameter.grad is not None]


def _norm(grads: list[np.ndarray], norm_type: float) -> np.ndarray:
    if not grads:
        return np.zeros((), np.float32)
    if math.isinf(norm_type):
        total = max(np.abs(grad).max(initial=0) for grad in grads)
    elif norm_type == 2:
        total = math.sqrt(sum(float(np.dot(flat, flat)) for flat in (grad.reshape(-1) for grad in grads)))
    else:
        total = sum(float((np.abs(grad) ** norm_type).sum()) for grad in grads) ** (1.0 / norm_type)
    return np.asarray(total, grads[0].dtype)


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    each = [tensors] if isinstance(tensors, Tensor) else tensors
    return Tensor(_checked([tensor._array for tensor in each], float(norm_type), error_if_nonfinite))


def _checked(grads: list[np.ndarray], norm_type: float, error_if_nonfinite: bool) -> np.ndarray:
    total = _norm(grads, norm_type)
    if error_if_nonfinite and not np.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales all gradients so that their total norm is at most max_norm; returns the norm before scaling."""
    grads = _grads(parameters)
    total = _checked(grads, float(norm_type), error_if_nonfinite)
    scale = float(max_norm) / (float(total) + 1e-6)
    # As torch: a factor above 1 is clamped to 1, a NaN stays and spreads.
    if not scale >= 1.0:
        for grad in grads:
            grad *= scale
    return Tensor(total)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamps every gradient value into ±clip_value."""
    for grad in _grads(parameters):
        np.clip(grad, -clip_value, clip_value, out=grad)
