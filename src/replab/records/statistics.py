"""How sure a number is: intervals and paired tests, from counts alone."""

from __future__ import annotations

import math

import numpy as np


def wilson(right: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """95 % interval of a proportion: honest near 0 and 1 and for small n, where mean ± 2 s.e. is not."""
    if n == 0:
        return 0.0, 1.0
    share, half = right / n, z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = (share + half - spread) / (1 + z * z / n), (share + half + spread) / (1 + z * z / n)
    return max(0.0, low), min(1.0, high)


def mcnemar(right_a: np.ndarray, right_b: np.ndarray) -> float:
    """Exact two-sided p-value that two trained models are equally often right, on the same images.

    Only images where exactly one of them is right tell anything: under equality each is a fair coin. It compares these
    two trained models, not their architectures: another seed of either is another model (runs/over_seeds.py).
    """
    only_a = int((right_a & ~right_b).sum())
    only_b = int((right_b & ~right_a).sum())
    n, fewer = only_a + only_b, min(only_a, only_b)
    if n == 0:
        return 1.0
    log_tail = [
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2) for k in range(fewer + 1)
    ]
    return min(1.0, 2 * sum(math.exp(t) for t in log_tail))


def mcnemar_detectable(right_a: np.ndarray, right_b: np.ndarray) -> float:
    """The smallest true difference of accuracies that such a test would see with 80 % power."""
    apart = int((right_a ^ right_b).sum())
    return (1.959964 + 0.841621) * math.sqrt(max(apart, 1)) / max(len(right_a), 1)


def paired_difference(right_a: np.ndarray, right_b: np.ndarray, z: float = 1.959964) -> tuple[float, float, float]:
    """(a's accuracy minus b's, low, high) of two classifiers on the same images: a 95 % interval, by Agresti and Min.

    Half an image is added to each of the four kinds of agreement, which keeps the interval honest near 0.
    """
    only_a, only_b = ((one & ~other).sum() + 0.5 for one, other in ((right_a, right_b), (right_b, right_a)))
    n = len(right_a) + 2
    centre = (only_a - only_b) / n
    half = z * math.sqrt(only_a + only_b - (only_a - only_b) ** 2 / n) / n
    return float(right_a.mean() - right_b.mean()), float(centre - half), float(centre + half)
