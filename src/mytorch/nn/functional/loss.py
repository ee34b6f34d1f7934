"""Losses. Cross-entropy is one operation for speed and safety; most others are a few tensor operations."""

from __future__ import annotations

import numpy as np

from mytorch.autograd import needs, record, spelled_out
from mytorch.ops.composed import xlogy
from mytorch.tensor import Tensor

from .activation import log_softmax, logsigmoid

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "nll_loss",
    "smooth_l1_loss",
]


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction: use 'mean', 'sum' or 'none'")


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: None = None,
    ignore_index: int = -100,
    reduce: None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Of logits (C,), (N, C) or (N, C, d1, ...) against classes (N, d1, ...) or probabilities as logits."""
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input._array.dtype.kind != "f":
        raise RuntimeError(f"cross_entropy needs floating point logits, but got {input.dtype}")
    if input.ndim and input.shape == target.shape and target._array.dtype.kind == "f":
        return _against_probabilities(input, target, weight, reduction, label_smoothing)
    if label_smoothing == 0.0 and weight is None and input.ndim == 2 and reduction in ("mean", "sum"):
        return _against_classes(input, target, ignore_index, reduction)
    logs = log_softmax(input, 0 if input.ndim == 1 else 1)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0.0:
        return loss
    # The smoothing term is the same loss against a uniform target, over the positions that count.
    dim = 0 if input.ndim == 1 else 1
    column = (-1,) + (1,) * (input.ndim - 1 - dim)
    spread = -(logs if weight is None else logs * weight.reshape(column)).sum(dim)
    counted = Tensor((target._array != ignore_index).astype(input._array.dtype))
    spread = spread * counted
    if reduction == "mean":
        safe = np.where(target._array == ignore_index, 0, target._array)
        each = counted._array if weight is None else counted._array * weight._array[safe]
        spread = spread.sum() / float(each.sum())
    else:
        spread = _reduced(spread, reduction)
    classes = input.shape[dim]
    return loss * (1 - label_smoothing) + spread * (label_smoothing / classes)


def _against_classes(input: Tensor, target: Tensor, ignore_index: int, reduction: str) -> Tensor:
    """The common case in one operation: its gradient is softmax minus one-hot."""
    x, classes = input._array, target._array
    all_in_range = _check_classes(input, target, ignore_index)
    rows = np.arange(len(x))
    shifted = x - x.max(1, keepdims=True)
    exps = np.exp(shifted)
    total = exps.sum(1, keepdims=True)
    everywhere = all_in_range and not 0 <= ignore_index < x.shape[1]
    counted = None if everywhere else classes != ignore_index
    safe = classes if counted is None else np.where(counted, classes, 0)
    losses = np.log(total[:, 0]) - shifted[rows, safe]
    if counted is not None:
        losses *= counted
    count = 1 if reduction == "sum" else len(x) if counted is None else int(counted.sum())
    value = losses.sum() / (count or np.nan)  # torch: the mean of nothing is nan

    def cross_entropy_backward(g: np.ndarray, _: np.ndarray) -> tuple[np.ndarray]:
        gx = exps / total
        gx[rows, safe] -= 1
        if counted is not None:
            gx *= counted[:, None]
        gx *= g / (count or 1)
        return (gx,)

    def plainly(x: Tensor) -> Tensor:
        return nll_loss(log_softmax(x, 1), target, ignore_index=ignore_index, reduction=reduction)

    out = np.asarray(value, x.dtype)
    return record(out, (input,), cross_entropy_backward, (input,), again=spelled_out(plainly))


def _against_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float
) -> Tensor:
    dim = 0 if input.ndim == 1 else 1
    classes = input.shape[dim]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    terms = log_softmax(input, dim) * target
    if weight is not None:
        terms = terms * weight.reshape((-1,) + (1,) * (input.ndim - 1 - dim))
    if reduction == "mean":
        return -terms.sum() / (terms.numel() // classes)  # over samples and positions, not classes
    return _reduced(-terms.sum(dim), reduction)


def _check_classes(input: Tensor, target: Tensor, ignore_index: int) -> bool:
    """Raise an error for a target that is not a class. False if some targets are to be ignored."""
    dim = 0 if input.ndim == 1 else 1
    wanted = input.shape[:dim] + input.shape[dim + 1 :]
    classes, index = input.shape[dim], target._array
    if index.shape != wanted:
        if dim and index.ndim and index.shape[:1] != wanted[:1]:
            raise ValueError(f"Expected input batch_size ({wanted[0]}) to match target batch_size ({index.shape[0]}).")
        raise RuntimeError(f"Expected target size {list(wanted)}, got {list(index.shape)}")
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype}: class indices are integers")
    if not index.size or (index.min() >= 0 and index.max() < classes):
        return True
    bad = ((index < 0) | (index >= classes)) & (index != ignore_index)
    if bad.any():
        raise IndexError(f"Target {int(index[bad][0])} is out of bounds.")
    return False


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: None = None,
    ignore_index: int = -100,
    reduce: None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-probability (C,), (N, C) or (N, C, d1, ...) of the target class; mean is by weight."""
    _check_classes(input, target, ignore_index)
    logs, classes = input._array, target._array
    dim = 0 if logs.ndim == 1 else 1
    counted = classes != ignore_index
    safe = np.expand_dims(np.where(counted, classes, 0), dim)
    each = counted.astype(logs.dtype)
    if weight is not None:
        each *= weight._array[safe.squeeze(dim)]
    losses = -np.take_along_axis(logs, safe, dim).squeeze(dim) * each
    total = each.sum() if reduction == "mean" else 1.0
    if reduction == "none":
        value = losses
    elif reduction in ("mean", "sum"):
        value = np.asarray(losses.sum() / (total or np.nan), logs.dtype)
    else:
        raise ValueError(f"{reduction} is not a valid value for reduction: use 'mean', 'sum' or 'none'")
    shape = logs.shape

    def nll_loss_backward(g: np.ndarray) -> tuple[np.ndarray]:
        gx = np.zeros(shape, each.dtype)
        np.put_along_axis(gx, safe, np.expand_dims(each * (-g / (total or 1)), dim), dim)
        return (gx,)

    def picked(x: np.ndarray) -> np.ndarray:
        values = -np.take_along_axis(x, safe, dim).squeeze(dim) * each
        return values if reduction == "none" else np.asarray(values.sum() / (total or 1), x.dtype)

    return record(value, (input,), nll_loss_backward, forward=picked)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    if weight is not None:
        return _weighted((input - target) ** 2, weight, input, reduction)
    x, y = input._array, target._array
    if x.shape != y.shape or x.dtype != y.dtype or reduction == "none" or not x.size:
        difference = input - target
        return _reduced(difference * difference, reduction)
    if reduction not in ("mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction: use 'mean', 'sum' or 'none'")
    difference = x - y
    count = x.size if reduction == "mean" else 1
    flat = difference.reshape(-1)
    wants = needs(input), needs(target)

    def mse_loss_backward(g: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray | None, ...]:
        gx = difference * (g * (2.0 / count))
        return gx if wants[0] else None, -gx if wants[1] else None

    def mse_loss_again(g: Tensor, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        gx = (input - target) * (g * (2.0 / count))
        return gx, -gx

    out = np.asarray(np.dot(flat, flat) / count, difference.dtype)
    return record(out, (input, target), mse_loss_backward, (input, target), again=mse_loss_again)


def _weighted(loss: Tensor, weight: Tensor, input: Tensor, reduction: str) -> Tensor:
    """The weighted loss; its mean is the sum divided by the sum of the weights."""
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    if reduction == "mean":
        return (loss * weight).sum() / weight.sum()
    return _reduced(loss * weight, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    if weight is not None:
        return _weighted((input - target).abs(), weight, input, reduction)
    return _reduced((input - target).abs(), reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared below beta, absolute above."""
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, but got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    distance = (input - target).abs()
    near = distance.clamp(max=beta)  # the slope: distance below beta, beta above
    return _reduced(near * (distance - near * 0.5) / beta, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
) -> Tensor:
    """Of probabilities; each logarithm is at least -100, as in torch."""
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
            "deprecated. Please ensure they have the same size."
        )
    p = input._array
    if p.size and not (p.min() >= 0 and p.max() <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    t = target._array
    with np.errstate(divide="ignore"):
        value = t * -np.maximum(np.log(p), -100) - (1 - t) * np.maximum(np.log1p(-p), -100)
    wants = needs(input), needs(target)

    def binary_cross_entropy_backward(g: np.ndarray, p: np.ndarray, t: np.ndarray) -> tuple[np.ndarray | None, ...]:
        gp = g * (p - t) / np.maximum(p * (1 - p), 1e-12) if wants[0] else None
        gt = None
        if wants[1]:
            gt = g * (np.maximum(np.log1p(-p), -100) - np.maximum(np.log(p), -100))
        return gp, gt

    def plainly(p: Tensor, t: Tensor) -> Tensor:
        return -t * p.log().clamp(min=-100) - (1 - t) * (1 - p).log().clamp(min=-100)

    read = (input, target)
    loss = record(value, read, binary_cross_entropy_backward, read, again=spelled_out(plainly))
    return _reduced(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Of logits, through log-sigmoid so that large ones neither overflow nor lose their gradient."""
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    positive = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    loss = (1 - target) * input - logsigmoid(input) * positive
    return _reduced(loss if weight is None else loss * weight, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log target - input), input being log-probabilities; 'batchmean' divides by the batch."""
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = xlogy(target, target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss.sum()
    return _reduced(loss, reduction)
