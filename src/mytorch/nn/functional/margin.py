"""Losses that compare pairs, triplets and classes by a margin, written with tensor operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mytorch.ops.pointwise import where
from mytorch.tensor import Tensor

from .activation import logsigmoid
from .distance import pairwise_distance
from .loss import _reduced

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
) -> Tensor:
    """The distance where the target is 1; max(0, margin - distance) where it is -1."""
    zero = (input - input) + (target - target)
    apart = where(target != 1, (margin - input).clamp(min=0), zero)
    return _reduced(apart + where(target != -1, input + zero, zero), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos for pairs that belong together (1), cos above the margin for others (-1)."""
    rank = target.ndim
    if rank > 1:
        raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported, but got {rank}D")
    if input1.ndim != rank + 1 or input2.ndim != rank + 1:
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    tiny = 1e-12
    lengths = ((input1 * input1).sum(rank) + tiny) * ((input2 * input2).sum(rank) + tiny)
    cos = (input1 * input2).sum(rank) / lengths.sqrt()
    zero = cos * 0
    loss = where(target == 1, 1 - cos, zero) + where(target == -1, (cos - margin).clamp(min=0), zero)
    return _reduced(loss, reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target (input1 - input2) + margin)."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return _reduced((-target * (input1 - input2) + margin).clamp(min=0), reduction)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: None = None, reduce: None = None, reduction: str = "mean"
) -> Tensor:
    """log(1 + exp(-target input))."""
    return _reduced(-logsigmoid(target * input), reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the binary cross-entropy with logits."""
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    return _reduced((loss if weight is None else loss * weight).mean(-1), reduction)


def _check_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction: use 'mean', 'sum' or 'none'")


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
) -> Tensor:
    """By how much other classes come within the margin of the right one, to the power p, averaged over classes."""
    _check_reduction(reduction)
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"weight must be one-dimensional, but got {list(weight.shape)}")
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, but got {p}")
    if input.ndim > 2 or not input.numel():
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    rows, classes = (input.reshape(1, -1) if input.ndim < 2 else input), target.reshape(-1)
    n = rows.shape[1]
    if target.ndim > 1 or len(classes) != len(rows):
        raise RuntimeError(f"inconsistent target size, expected {len(rows)} but got {list(target.shape)}")
    if weight is not None and weight.shape != (n,):
        raise RuntimeError(f"inconsistent weight size, expected {n} but got {list(weight.shape)}")
    if classes.numel() and not (classes._array.min() >= 0 and classes._array.max() < n):
        raise RuntimeError("target out of range")
    right = rows.gather(1, classes.reshape(-1, 1))
    lacking = (margin - right + rows).clamp(min=0) ** p
    if weight is not None:
        lacking = lacking * weight[classes].reshape(-1, 1)
    others = Tensor(np.arange(n) != classes._array[:, None])
    loss = where(others, lacking, 0.0).sum(1) / n
    return _reduced(loss if target.ndim else loss.reshape(()), reduction)


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: None = None, reduce: None = None, reduction: str = "mean"
) -> Tensor:
    """The same against several right classes: those listed in target before the first -1."""
    _check_reduction(reduction)
    if not input.numel() and input.ndim < 2:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if input.shape != target.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    if input.ndim > 2:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    rows, labels = (t.reshape(1, -1) if t.ndim < 2 else t for t in (input, target))
    n = rows.shape[1]
    listed = np.cumprod(labels._array != -1, 1).astype(bool)  # (N, n)
    safe = np.where(listed, labels._array, 0)
    wrong = np.ones(rows.shape, bool)
    for row, at, use in zip(wrong, safe, listed):
        row[at[use]] = False
    right = rows.gather(1, Tensor(safe))
    lacking = (1 - right.unsqueeze(2) + rows.unsqueeze(1)).clamp(min=0)  # (N, listed class, class)
    counted = Tensor(listed[:, :, None] & wrong[:, None, :])
    loss = where(counted, lacking, 0.0).sum((1, 2)) / n
    return _reduced(loss if input.ndim == 2 else loss.reshape(()), reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """The anchor should be nearer to the positive than to the negative by the margin."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, but got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    apart: Any = pairwise_distance if distance_function is None else distance_function
    near, far = apart(anchor, positive), apart(anchor, negative)
    if swap:
        far = far.minimum(apart(positive, negative))
    return _reduced((margin + near - far).clamp(min=0), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: None = None,
    reduce: None = None,
    reduction: str = "mean",
) -> Tensor:
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        margin=margin,
        swap=swap,
        reduction=reduction,
    )
