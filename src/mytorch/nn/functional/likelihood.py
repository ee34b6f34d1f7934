"""Losses from distributions: Huber, Poisson and Gaussian likelihoods, and CTC over all alignments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mytorch.autograd import record
from mytorch.ops.pointwise import where
from mytorch.tensor import Tensor

from .loss import _reduced

__all__ = ["ctc_loss", "gaussian_nll_loss", "huber_loss", "poisson_nll_loss"]


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Squared below delta, straight above."""
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, but got {delta}")
    distance = (input - target).abs()
    near = distance.clamp(max=delta)
    loss = near * (distance - near * 0.5)
    if weight is not None:
        loss = loss * weight
        if reduction == "mean":
            return loss.sum() / weight.expand(loss.shape).sum()
    return _reduced(loss, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: None = None,
    eps: float = 1e-8,
    reduce: None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-likelihood of counts, input being the rate or its logarithm; full adds Stirling's term."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        large = target > 1
        t = where(large, target, 1.0)
        loss = loss + where(large, t * t.log() - t + 0.5 * (2 * math.pi * t).log(), 0.0)
    return _reduced(loss, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Minus the log-likelihood of a normal distribution with this mean and variance."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError(f"var has negative entry/entries: {var}")
        var = Tensor(np.full(input.shape, var, input._array.dtype))
    elif (var._array < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif var.ndim != input.ndim or sum(m != n for m, n in zip(var.shape, input.shape)) > 1 or 1 not in var.shape:
            raise ValueError(f"var is of incorrect size: {list(var.shape)} for input {list(input.shape)}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    # eps is a floor that the gradient does not see
    var = var + Tensor(np.maximum(eps - var._array, 0).astype(var._array.dtype))
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """log_probs (T, N, C) or (T, C), targets (N, S), (S,) or all in one row: minus the log of all alignments' sum."""
    single = log_probs.ndim == 2
    x = log_probs._array[:, None] if single else log_probs._array
    t_lengths, s_lengths = (np.atleast_1d(_numbers(v)) for v in (input_lengths, target_lengths))
    labels = targets._array
    if not single and (len(t_lengths) != x.shape[1] or len(s_lengths) != x.shape[1]):
        raise RuntimeError(f"input_lengths and target_lengths must be of size batch_size {x.shape[1]}")
    if not 0 <= blank < x.shape[2]:
        raise RuntimeError(f"blank must be in label range, but got {blank}")
    if (t_lengths > x.shape[0]).any():
        raise RuntimeError(f"Expected input_lengths to have value at most {x.shape[0]}, but got {int(t_lengths.max())}")
    if labels.ndim == 1 and not single:
        rows = np.split(labels, np.cumsum(s_lengths)[:-1])
    else:
        rows = [row[:n] for row, n in zip(labels.reshape(len(s_lengths), -1), s_lengths)]
    with np.errstate(all="ignore"):
        each = [_alignments(x[:t, n], row, blank) for n, (t, row) in enumerate(zip(t_lengths, rows))]
    losses = np.array([loss for loss, _ in each], x.dtype)
    grads = np.zeros_like(x)
    for n, (loss, slope) in enumerate(each):
        if np.isfinite(loss) or not zero_infinity:
            grads[: len(slope), n] = slope
    if zero_infinity:
        losses[np.isinf(losses)] = 0

    def ctc_loss_backward(g: np.ndarray) -> tuple:
        out = grads * g[:, None]
        return (out[:, 0] if single else out,)

    out = record(losses, (log_probs,), ctc_loss_backward)
    if reduction == "mean":
        return (out / Tensor(np.maximum(s_lengths, 1).astype(x.dtype))).mean()
    return _reduced(out.squeeze(0) if single else out, reduction)


def _numbers(value: Any) -> np.ndarray:
    return value._array if isinstance(value, Tensor) else np.asarray(value)


def _alignments(x: np.ndarray, row: np.ndarray, blank: int) -> tuple[float, np.ndarray]:
    """One sequence: minus log of the sum over alignments, and its gradient, by the forward-backward recursion.

    The labels with blanks around them are the states; a path stays, goes on, or skips a blank between two
    different labels.
    """
    steps = len(x)
    states = np.full(2 * len(row) + 1, blank)
    states[1::2] = row
    count = len(states)
    skip = np.zeros(count, bool)
    skip[2:] = (states[2:] != blank) & (states[2:] != states[:-2])
    emitted = x[:, states]  # (T, states)

    def recursion(emitted: np.ndarray, skip: np.ndarray) -> np.ndarray:
        alpha = np.full((steps, count), -np.inf)
        alpha[0, :2] = emitted[0, :2]
        for t in range(1, steps):
            before = alpha[t - 1]
            one = np.concatenate([[-np.inf], before[:-1]])
            two = np.where(skip, np.concatenate([[-np.inf, -np.inf], before[:-2]])[:count], -np.inf)
            alpha[t] = np.logaddexp(np.logaddexp(before, one), two) + emitted[t]
        return alpha

    if not steps:
        return (0.0 if not len(row) else math.inf), np.zeros_like(x)
    alpha = recursion(emitted, skip)
    backwards = np.zeros(count, bool)  # the same from the other end
    backwards[2:] = skip[::-1][:-2]
    beta = recursion(emitted[::-1, ::-1], backwards)[::-1, ::-1]
    total = np.logaddexp(alpha[-1, -1], alpha[-1, -2]) if count > 1 else alpha[-1, -1]
    through = np.exp(alpha + beta - emitted - total)  # the share of alignments in each state at each time
    grad = np.exp(x)  # torch takes log_probs to come from log_softmax, and gives the gradient with that in mind
    for s, label in enumerate(states):
        grad[:, label] -= np.where(np.isnan(through[:, s]), 0, through[:, s]) if np.isfinite(total) else np.nan
    return -float(total), grad
