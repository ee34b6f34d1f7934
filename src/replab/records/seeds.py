"""What a few seeds can tell: Student's t at its own degrees of freedom, from means and spreads alone.

A seed redraws the initial weights, the order of the batches, dropout, augmentation and a search's split; it does not
redraw the test images. So the spread over seeds is that of training, on these test images. How far an accuracy would
move on other test images of the same kind is the binomial standard error of one run, and is kept apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

LEVEL = 0.05  # of every test: the share of false alarms where nothing is different
POWER = 0.8


class Summary(NamedTuple):
    """Several seeds of one measurement."""

    mean: float
    spread: float | None  # standard deviation over seeds; None with one seed
    n: int
    images: float | None = None  # standard error of one run from drawing its test images; None where unknown

    @property
    def error(self) -> float:
        """Standard error of the mean over seeds; unknown with one seed, and then nothing is tested."""
        return math.inf if self.spread is None else self.spread / math.sqrt(self.n)


def summarise(values: Sequence[float], images: Sequence[float | None] = ()) -> Summary:
    """`images`: the standard error within each run."""
    n, mean = len(values), math.fsum(values) / len(values)
    within = [e for e in images if e is not None]
    of_images = math.sqrt(math.fsum(e * e for e in within) / len(within)) if within else None
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1)) if n > 1 else None
    return Summary(mean, spread, n, of_images)


class Difference(NamedTuple):
    """One mean minus another."""

    gap: float
    error: float  # its standard error
    freedom: float  # degrees of freedom

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        half = quantile(1 - level / 2, self.freedom) * self.error
        return self.gap - half, self.gap + half

    def detectable(self, level: float = LEVEL, power: float = POWER) -> float:
        """The smallest true difference that such a test would see with this power."""
        return self.error * noncentrality(self.freedom, level, power)


def welch(a: Summary, b: Summary) -> Difference:
    """a - b of two groups with spreads of their own; Welch and Satterthwaite's degrees of freedom."""
    if a.spread is None or b.spread is None:
        raise ValueError(f"a difference needs two seeds on either side, got {a.n} and {b.n}")
    va, vb = a.spread**2 / a.n, b.spread**2 / b.n
    parts = va**2 / (a.n - 1) + vb**2 / (b.n - 1)
    return Difference(a.mean - b.mean, math.sqrt(va + vb), (va + vb) ** 2 / parts if parts else a.n + b.n - 2)


def paired(a: Mapping[int, float], b: Mapping[int, float]) -> Difference:
    """a - b of two measurements of the same runs, by seed."""
    each = summarise([a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())])
    if each.spread is None:
        raise ValueError(f"a difference needs two seeds, got {each.n}")
    return Difference(each.mean, each.error, each.n - 1)


def p_above(value: float, error: float, freedom: float) -> float:
    """One-sided p-value that a true value is not above 0."""
    from scipy.special import stdtr

    if error == 0:
        return 0.0 if value > 0 else 1.0
    return float(stdtr(freedom, -value / error))


def p_differs(value: float, error: float, freedom: float) -> float:
    """Two-sided p-value that a true value is 0."""
    return min(1.0, 2 * p_above(abs(value), error, freedom))


def p_equivalent(gap: float, error: float, freedom: float, margin: float) -> float:
    """Two one-sided tests: the p-value that a true difference is not within ± margin."""
    return max(p_above(margin - gap, error, freedom), p_above(margin + gap, error, freedom))


def prediction(seeds: Summary, level: float = LEVEL) -> float:
    """Half of the interval that one more run falls into: t · s · √(1 + 1/n)."""
    if seeds.spread is None:
        return math.inf
    return quantile(1 - level / 2, seeds.n - 1) * seeds.spread * math.sqrt(1 + 1 / seeds.n)


def quantile(share: float, freedom: float) -> float:
    """Of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))


def noncentrality(freedom: float, level: float = LEVEL, power: float = POWER) -> float:
    """The true difference, in standard errors, that a two-sided t test sees with this power. By bisection."""
    from scipy.special import nctdtr

    critical, low, high = quantile(1 - level / 2, freedom), 0.0, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - nctdtr(freedom, middle, critical) < power else (low, middle)
    return high


def seeds_to_see(difference: float, spread: float, most: int = 10_000) -> int:
    """Seeds per side so that a difference between two groups of this spread is seen with 80 % power."""
    if difference <= 0:
        raise ValueError(f"a difference to see must be above 0, got {difference:g}")
    n = 2
    while noncentrality(2 * n - 2) * spread * math.sqrt(2 / n) > difference and n < most:
        n += 1 if n < 50 else n // 20
    return n


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: of a family of tests, the chance of one false alarm at all stays at the level."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def superiority(a: Sequence[float], b: Sequence[float]) -> float:
    """P(A > B): the share of pairs of runs, one of each, in which a's is larger; ties count half."""
    one, two = np.asarray(a, float)[:, None], np.asarray(b, float)[None]
    return float(((one > two) + 0.5 * (one == two)).mean())


def bootstrap(right: np.ndarray, draws: int = 2000, seed: int = 0) -> tuple[float, float]:
    """95 % interval of a mean accuracy over other seeds and other test images; `right`: (seeds, images) of bools.

    Seeds and images are drawn anew, each with replacement, so both sources of chance are in the interval.
    """
    values = np.asarray(right, np.float64)
    seeds, images = values.shape
    random, means = np.random.default_rng(seed), np.empty(draws)
    for k in range(draws):
        of_seed = np.bincount(random.integers(0, seeds, seeds), minlength=seeds)
        of_image = np.bincount(random.integers(0, images, images), minlength=images)
        means[k] = of_seed @ values @ of_image / (seeds * images)
    low, high = np.quantile(means, (LEVEL / 2, 1 - LEVEL / 2))
    return float(low), float(high)
