"""Learning-rate schedules: pure functions of the step, so there is nothing to save and nothing to resume.

A schedule is a function `(step, total, lr) -> rate` under `@schedule`; steps count from 0. One that also moves the
momentum (Adam's first beta) names a function of (step, total) for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from replab.settings.choices import schedule

Schedule = Callable[[int, int, float], float]


@schedule
def constant(step: int, total: int, lr: float) -> float:
    """The same rate at every step"""
    return lr


@schedule
def cosine(step: int, total: int, lr: float) -> float:
    """Half a cosine from the rate to 0"""
    return lr * 0.5 * (1 + math.cos(math.pi * step / total))


@schedule
def warmup_cosine(step: int, total: int, lr: float) -> float:
    """Up from 0 over the first twentieth of the steps, then half a cosine to 0"""
    first = max(1, total // 20)
    if step < first:
        return lr * (step + 1) / (first + 1)
    return cosine(step - first, total - first, lr)


@schedule
def step(step: int, total: int, lr: float) -> float:
    """A tenth of the rate after half of the steps, and again after three quarters"""
    return lr * 0.1 ** ((step >= total / 2) + (step >= total * 3 / 4))


@schedule
def linear(step: int, total: int, lr: float) -> float:
    """In a straight line from the rate to 0"""
    return lr * (1 - step / total)


def cycled_momentum(step: int, total: int) -> float:
    """The other way round than one-cycle's rate."""
    return _cycle(step, total, start=0.95, peak=0.85, end=0.95)


@schedule(momentum=cycled_momentum)
def one_cycle(step: int, total: int, lr: float) -> float:
    """Up over the first 30 %, then down to nearly 0: torch's OneCycleLR at its defaults, momentum included"""
    return _cycle(step, total, start=lr / 25, peak=lr, end=lr / 25e4)


@schedule
def triangle(step: int, total: int, lr: float) -> float:
    """A straight line from 0.2 of the rate up to it over the first 23 %, then down to 0.07 of it, as airbench94"""
    top = max(1, int(0.23 * total))
    if step < top:
        return lr * (0.2 + 0.8 * step / top)
    return lr * (1 - 0.93 * (step - top) / (total - top))


def momentum(of: Schedule, step: int, total: int) -> float | None:
    """The momentum at a step, or None where a schedule leaves it alone."""
    moves = getattr(of, "momentum", None)
    return None if moves is None else float(moves(step, total))


def _cycle(step: int, total: int, start: float, peak: float, end: float) -> float:
    """Cosine from start to peak over the first 30 %, then to end at the last step."""
    top = max(0.3 * total - 1, 1e-9)
    last = max(total - 1, top + 1e-9)
    if step <= top:
        return _half_cosine(start, peak, step / top)
    return _half_cosine(peak, end, (step - top) / (last - top))


def _half_cosine(a: float, b: float, share: float) -> float:
    return b + (a - b) * 0.5 * (1 + math.cos(math.pi * share))
