"""Learning-rate schedules as pure functions of the step: nothing to save, nothing to resume."""

from __future__ import annotations

import math


def rate(schedule: str, step: int, total: int, lr: float) -> float:
    """The learning rate at a step (from 0) of `total`. One-cycle is torch's OneCycleLR at its defaults."""
    if schedule == "one-cycle":
        return _one_cycle(step, total, start=lr / 25, peak=lr, end=lr / 25e4)
    if schedule == "cosine":
        return lr * 0.5 * (1 + math.cos(math.pi * step / total))
    return lr


def momentum(schedule: str, step: int, total: int) -> float | None:
    """One-cycle also cycles the momentum (Adam's first beta), the other way round; None leaves it alone."""
    return _one_cycle(step, total, start=0.95, peak=0.85, end=0.95) if schedule == "one-cycle" else None


def _one_cycle(step: int, total: int, start: float, peak: float, end: float) -> float:
    """Cosine from start to peak over the first 30 %, then to end at the last step."""
    top = max(0.3 * total - 1, 1e-9)
    last = max(total - 1, top + 1e-9)
    if step <= top:
        return _cosine(start, peak, step / top)
    return _cosine(peak, end, (step - top) / (last - top))


def _cosine(a: float, b: float, share: float) -> float:
    return b + (a - b) * 0.5 * (1 + math.cos(math.pi * share))
