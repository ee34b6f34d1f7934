"""Does the published number hold? The rule, on numbers alone.

Holds: the published value is within the measured mean ± (2 standard errors + the row's tolerance). With one seed the
spread between seeds is unknown; the standard error is then that of one run on its test images, and n = 1 is shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

HOLDS, BETTER, SHORT = "holds", "better", "short"
NOT_COMPARABLE, NOT_RUN, NEVER_PUBLISHED = "not comparable", "not run", "never published"


class Summary(NamedTuple):
    """Several seeds of one measurement."""

    mean: float
    spread: float | None  # standard deviation over seeds; None with one seed
    error: float  # standard error of the mean
    n: int


def summarise(values: Sequence[float], errors: Sequence[float | None]) -> Summary:
    """`errors`: the standard error within each run, used when there is only one."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Summary(mean, None, errors[0] or 0.0, 1)
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    return Summary(mean, spread, spread / math.sqrt(n), n)


def judge(published: float, measured: Summary, tolerance: float, higher_is_better: bool = True) -> str:
    """holds, better or short."""
    gap = measured.mean - published
    if abs(gap) <= 2 * measured.error + tolerance + 1e-9:
        return HOLDS
    return BETTER if (gap > 0) == higher_is_better else SHORT


def word_and_reason(
    published: float | None,
    measured: Summary | None,
    tolerance: float,
    higher_is_better: bool,
    *,
    data: tuple[str, str] = ("", ""),  # measured on, published on
    epochs: tuple[int | None, int | None] = (None, None),  # trained, published
    incomparable: str = "",
    absent: str = "",  # why there is no measurement
) -> tuple[str, str]:
    """The verdict, and what a reader has to know beside it."""
    if measured is None:
        return NOT_RUN, absent
    notes = []
    if epochs[0] != epochs[1]:
        notes.append(f"at {epochs[0]} of {epochs[1]} epochs")
    if measured.n == 1:
        notes.append("n = 1")
    if published is None:
        return NEVER_PUBLISHED, "; ".join(notes)
    by_numbers = judge(published, measured, tolerance, higher_is_better)
    other = f"on {data[0]}, not {data[1]}" if data[0] != data[1] else ""
    if incomparable:
        return NOT_COMPARABLE, "; ".join([incomparable, *([other] if other else []), *notes])
    if other:
        return NOT_COMPARABLE, "; ".join([f"{other}: by the numbers {by_numbers}", *notes])
    return by_numbers, "; ".join(notes)
