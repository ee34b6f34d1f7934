"""Claims in words, judged from measured rows: each run against each control, by Welch's t test.

Two measures of the same runs are paired by seed. A claim holds when every check does (its p-value is its largest one);
it does not hold when one is contradicted (the smallest p-value, times the number of checks). The claims of one pack are
one family: their p-values are Holm's, so that 5 % is the chance of one false alarm in the whole pack.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from replab.records import seeds
from replab.records.seeds import LEVEL, Difference, Summary
from replab.replication.measures import MEASURES
from replab.replication.packs import Check, Claim
from replab.replication.verdict import HOLDS, INDICATION, NOT_COMPARABLE, NOT_RUN, missing

FAILS, NOISE = "does not hold", "within noise"


class Found(NamedTuple):
    """What a row measured, and under what conditions."""

    values: Mapping[int, float]  # by seed
    data: str
    published_on: str
    epochs: tuple[int | None, int | None] = (None, None)  # trained and published, where they differ

    @property
    def summary(self) -> Summary:
        return seeds.summarise(list(self.values.values()))


# (row id, measure) → what was measured, or None
Lookup = Callable[[str, str], Found | None]


@dataclass(frozen=True)
class Judged:
    verdict: str
    reason: str  # the differences it rests on, or what is missing
    p: float | None = None  # where it was tested; Holm's after `corrected`


@dataclass
class Evidence:
    """What the checks of one claim found."""

    texts: list[str] = field(default_factory=list)
    p_for: list[float] = field(default_factory=list)
    p_against: list[float] = field(default_factory=list)


def evaluate(claim: Claim, lookup: Lookup) -> Judged:
    """One claim by itself: a test, or the word for why there is none."""
    if claim.not_run:
        return Judged(NOT_RUN, claim.not_run)
    rows = dict.fromkeys(
        (row, measure)
        for check in claim.checks
        for side, measure in zip((check.runs, check.control), check.measures)
        for row in side
    )
    measured = {key: value for key in rows if (value := lookup(*key)) is not None}
    if absent := dict.fromkeys(row for row, measure in rows if (row, measure) not in measured):
        return Judged(NOT_RUN, "needs " + ", ".join(absent))
    evidence = Evidence()
    for check in claim.checks:
        for run in check.runs:
            for control in check.control:
                a, b = measured[run, check.measures[0]], measured[control, check.measures[1]]
                if a.data != b.data:
                    return Judged(NOT_RUN, f"{run} is measured on {a.data}, {control} on {b.data}")
                _weigh(check, run, control, a, b, evidence)
    found, text = list(measured.values()), "; ".join(evidence.texts)
    other = dict.fromkeys(f"on {f.data}, not {f.published_on}" for f in found if f.data != f.published_on)
    lacking = dict.fromkeys(word for f in found for word in missing(f.summary, f.epochs))
    if other or lacking or not evidence.p_for:
        return Judged(NOT_COMPARABLE if other else INDICATION, "; ".join([*other, *lacking, text]))
    p_for, p_against = max(evidence.p_for), min(1.0, len(evidence.p_against) * min(evidence.p_against))
    return Judged(HOLDS if p_for <= p_against else FAILS, text, min(p_for, p_against))


def corrected(family: Sequence[Judged]) -> list[Judged]:
    """The claims of one pack, by Holm's p-values: what is above 5 % is within noise."""
    tested = [judged.p for judged in family if judged.p is not None]
    adjusted = iter(seeds.holm(tested))
    out = []
    for judged in family:
        if judged.p is not None:
            p = next(adjusted)
            word = judged.verdict if p < LEVEL else NOISE
            among = f", Holm's p = {p:.2g} among {len(tested)} claims" if len(tested) > 1 else ""
            judged = Judged(word, judged.reason + among, p)
        out.append(judged)
    return out


def _weigh(check: Check, run: str, control: str, a: Found, b: Found, evidence: Evidence) -> None:
    """Add the difference of one run and one control, in words, and as p-values where both have two seeds."""
    name = f"{run} against {control if run != control else 'itself'}"
    measure, other = (MEASURES[m] for m in check.measures)
    one, two = a.summary, b.summary
    what = (
        measure.label if other == measure else f"{measure.label} ({one.mean:.2f}) over {other.label} ({two.mean:.2f})"
    )
    unit = "points" if measure.unit == "%" else measure.unit
    gap = f"{name}: {one.mean - two.mean:+.2f} {unit} {what} (n = {one.n} and {two.n}".replace("  ", " ")
    if one.spread is None or two.spread is None or len(a.values.keys() & b.values.keys()) < 2 * (run == control):
        evidence.texts.append(gap + ")")
        return
    difference = seeds.paired(a.values, b.values) if run == control else seeds.welch(one, two)
    p_for, p_against = tests(check, difference)
    low, high = difference.interval()
    ahead = seeds.superiority(list(a.values.values()), list(b.values.values()))
    text = f"{gap}; 95 % interval {low:+.2f} to {high:+.2f}; p = {min(p_for, p_against):.2g}; P(A > B) = {ahead:.2f}"
    if min(p_for, p_against) >= LEVEL:
        text += f"; a difference of {difference.detectable():.2g} would have been seen with 80 % power"
    evidence.texts.append(text + ")")
    evidence.p_for.append(p_for)
    evidence.p_against.append(p_against)


def tests(check: Check, difference: Difference) -> tuple[float, float]:
    """p-values for and against one check. `within` is shown by two one-sided tests, the others by two-sided ones."""
    gap, error, freedom = difference
    if check.expect == "within":
        beyond = abs(gap) - check.margin
        against = seeds.p_differs(beyond, error, freedom) if beyond > 0 else 1.0
        return seeds.p_equivalent(gap, error, freedom, check.margin), against
    towards = (gap if check.expect == "higher" else -gap) - check.margin
    p = seeds.p_differs(towards, error, freedom)
    return (p, 1.0) if towards > 0 else (1.0, p)
