"""Does the published number hold? The rule, on numbers alone.

A published number is itself one run. So two questions are asked of n seeds with mean m and spread s over seeds:

- Is the mean shown to be within the row's margin of it? Two one-sided t tests at 5 %, n - 1 degrees of freedom:
  *holds*.
- Could it have been one more run of these? If it is outside the 95 % prediction interval m ± t·s·√(1 + 1/n), and
  further from the mean than the margin: *better* or *short*. Inside, and not shown to be within the margin:
  *compatible*; but where that interval is wider than WIDE margins to either side it would have fitted nearly
  anything: *cannot tell*.

A published bound ("above 82 %") is judged on its own side only. One seed has no spread, and other epochs are another
experiment: both are an *indication*, with what is missing.
"""

from __future__ import annotations

from replab.records.seeds import LEVEL, Summary, p_above, p_equivalent, prediction

HOLDS, BETTER, SHORT = "holds", "better", "short"
COMPATIBLE, CANNOT_TELL, INDICATION = "compatible", "cannot tell", "indication"
NOT_COMPARABLE, NOT_RUN, NEVER_PUBLISHED = "not comparable", "not run", "never published"
WIDE = 4  # margins


def judge(
    published: float, seeds: Summary, margin: float, higher_is_better: bool = True, bound: str = ""
) -> tuple[str, str]:
    """holds, compatible, better, short or cannot tell, of at least two seeds, and the test that says so.

    `bound`: "above" or "below" where the published number is the least or the most.
    """
    gap, reach = seeds.mean - published, prediction(seeds)
    expected = f"95 % of further runs are expected from {seeds.mean - reach:.5g} to {seeds.mean + reach:.5g}"
    if bound:
        towards = gap if bound == "above" else -gap
        if (p := p_above(towards, seeds.error, seeds.n - 1)) < LEVEL:
            return HOLDS, f"one-sided p = {p:.2g}"
        if towards < -prediction(seeds, 2 * LEVEL):  # one-sided
            return SHORT, expected
    else:
        if (p := p_equivalent(gap, seeds.error, seeds.n - 1, margin)) < LEVEL:
            return HOLDS, f"within the margin, p = {p:.2g}"
        if abs(gap) > max(reach, margin):
            return (BETTER if (gap > 0) == higher_is_better else SHORT), expected
        if abs(gap) > reach:
            return CANNOT_TELL, f"{expected}, and the mean is within the margin, which is not shown"
    return (CANNOT_TELL if margin and reach > WIDE * margin else COMPATIBLE), expected


def word_and_reason(
    published: float | None,
    measured: Summary | None,
    margin: float,
    higher_is_better: bool,
    *,
    data: tuple[str, str] = ("", ""),  # measured on, published on
    epochs: tuple[int | None, int | None] = (None, None),  # trained, published
    bound: str = "",
    incomparable: str = "",
    absent: str = "",  # why there is no measurement
) -> tuple[str, str]:
    """The verdict, and what a reader has to know beside it."""
    if measured is None:
        return NOT_RUN, absent
    lacking = missing(measured, epochs)
    if published is None:
        return NEVER_PUBLISHED, "; ".join(lacking)
    other = [f"on {data[0]}, not {data[1]}"] if data[0] != data[1] else []
    if incomparable or other:
        return NOT_COMPARABLE, "; ".join([*([incomparable] if incomparable else []), *other, *lacking])
    if lacking:
        return INDICATION, "; ".join(lacking)
    return judge(published, measured, margin, higher_is_better, bound)


def missing(measured: Summary, epochs: tuple[int | None, int | None] = (None, None)) -> list[str]:
    """Why these runs are an indication only."""
    short = [f"{epochs[0]} of {epochs[1]} epochs"] if epochs[0] != epochs[1] else []
    return short + (["one seed, needs two or more"] if measured.n == 1 else [])
