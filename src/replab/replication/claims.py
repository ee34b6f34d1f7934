"""Claims in words, judged from measured rows: each run against each control, and the noise between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from replab.replication.measures import MEASURES
from replab.replication.packs import Check, Claim
from replab.replication.verdict import HOLDS, NOT_RUN, Summary

FAILS, NOISE = "does not hold", "within noise"


class Found(NamedTuple):
    """What a row measured, and under what conditions: 'cifar10-jpeg', '5 of 11 epochs'."""

    summary: Summary
    data: str
    reduced: str = ""


# (row id, measure) → what was measured, or None
Lookup = Callable[[str, str], Found | None]


class Judged(NamedTuple):
    verdict: str
    reason: str  # the differences it rests on, or what is missing


def evaluate(claim: Claim, lookup: Lookup) -> Judged:
    """holds if every check holds; does not hold if one is contradicted; else within noise."""
    if claim.not_run:
        return Judged(NOT_RUN, claim.not_run)
    rows = dict.fromkeys(
        (row, measure)
        for check in claim.checks
        for side, measure in zip((check.runs, check.control), check.measures)
        for row in side
    )
    measured = {key: lookup(*key) for key in rows}
    missing = dict.fromkeys(row for (row, _), value in measured.items() if value is None)
    if missing:
        return Judged(NOT_RUN, "needs " + ", ".join(missing))
    verdicts, reasons = [], []
    for check in claim.checks:
        for run in check.runs:
            for control in check.control:
                a, b = measured[run, check.measures[0]], measured[control, check.measures[1]]
                assert a is not None
                assert b is not None
                if a.data != b.data:
                    return Judged(NOT_RUN, f"{run} is measured on {a.data}, {control} on {b.data}")
                word, text = compare(check, a.summary, b.summary)
                verdicts.append(word)
                against = control if run != control else "itself"
                reasons.append(f"{run} against {against}: {text}" + _reduced(a, b))
    word = FAILS if FAILS in verdicts else NOISE if NOISE in verdicts else HOLDS
    return Judged(word, "; ".join(reasons))


def compare(check: Check, run: Summary, control: Summary) -> tuple[str, str]:
    """The difference run - control against 2 standard errors of it."""
    gap, noise = run.mean - control.mean, 2 * math.hypot(run.error, control.error)
    measure, other = (MEASURES[name] for name in check.measures)
    what = (
        measure.label
        if other == measure
        else f"{measure.label} ({run.mean:.2f}) over {other.label} ({control.mean:.2f})"
    )
    text = f"{gap:+.2f} ± {noise:.2f} {measure.unit} {what} (n = {run.n} and {control.n})".replace("  ", " ")
    if check.expect == "within":
        distance = abs(gap)
        return (HOLDS if distance <= check.margin else FAILS if distance > check.margin + noise else NOISE), text
    towards = gap if check.expect == "higher" else -gap
    if towards > check.margin + noise:
        return HOLDS, text
    return (FAILS if towards < check.margin - noise else NOISE), text


def _reduced(a: Found, b: Found) -> str:
    words = dict.fromkeys(word for word in (a.reduced, b.reduced) if word)
    return f" ({', '.join(words)})" if words else ""
