"""A step length that satisfies the strong Wolfe conditions: enough descent, and a slope that is nearly flat."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

# (step, value, gradient, slope along the direction)
Point = tuple[float, float, np.ndarray, float]


def _cubic_minimum(a: Point, b: Point, low: float | None = None, high: float | None = None) -> float:
    """Where the cubic through two values and slopes is smallest, within bounds (by default the two points)."""
    if low is None or high is None:
        low, high = min(a[0], b[0]), max(a[0], b[0])
    (x1, f1, _, g1), (x2, f2, _, g2) = (a, b) if a[0] <= b[0] else (b, a)
    if x1 == x2:
        return (low + high) / 2
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    inside = d1 * d1 - g1 * g2
    if inside < 0:
        return (low + high) / 2
    d2 = math.sqrt(inside)
    bottom = g2 - g1 + 2 * d2
    if bottom == 0:
        return (low + high) / 2
    return min(max(x2 - (x2 - x1) * ((g2 + d2 - d1) / bottom), low), high)


def strong_wolfe(
    along: Callable[[float], tuple[float, np.ndarray]],
    t: float,
    direction: np.ndarray,
    loss: float,
    gradient: np.ndarray,
    slope: float,
    c1: float = 1e-4,
    c2: float = 0.9,
    least_change: float = 1e-9,
    most: int = 25,
) -> tuple[float, np.ndarray, float, int]:
    """Gives loss, gradient, step and the number of evaluations. `along(t)` is loss and gradient t along direction."""
    evaluations = 0

    def at(step: float) -> Point:
        nonlocal evaluations
        evaluations += 1
        value, grad = along(step)
        return step, value, grad, float(grad @ direction)

    def too_high(point: Point) -> bool:
        return point[1] > loss + c1 * point[0] * slope

    def flat(point: Point) -> bool:
        return abs(point[3]) <= -c2 * slope

    # first: go on until two points have a good step between them
    before: Point = (0.0, loss, gradient, slope)
    new = at(t)
    tries, bracket = 0, None
    while tries < most:
        if too_high(new) or (tries > 1 and new[1] >= before[1]):
            bracket = [before, new]
            break
        if flat(new):
            return new[1], new[2], new[0], evaluations
        if new[3] >= 0:
            bracket = [before, new]
            break
        t = _cubic_minimum(before, new, new[0] + 0.01 * (new[0] - before[0]), new[0] * 10)
        before, new = new, at(t)
        tries += 1
    if bracket is None:
        bracket = [(0.0, loss, gradient, slope), new]
    # then: narrow the bracket
    slow = False  # whether the last point lay close to an end of the bracket
    low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
    while tries < most:
        left, right = sorted(point[0] for point in bracket)
        if (right - left) * float(np.abs(direction).max()) < least_change:
            break
        t = _cubic_minimum(bracket[0], bracket[1])
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if slow or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                slow = False
            else:
                slow = True
        else:
            slow = False
        new = at(t)
        tries += 1
        if too_high(new) or new[1] >= bracket[low][1]:
            bracket[high] = new
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
            continue
        done = flat(new)
        if not done and new[3] * (bracket[high][0] - bracket[low][0]) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = new
        if done:
            break
    best = bracket[low]
    return best[1], best[2], best[0], evaluations
