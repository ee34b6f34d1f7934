"""What might be wrong with this number? Plain sentences about a finished run, each with the figure it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replab.errors import RunError
from replab.records.statistics import wilson
from replab.records.trial import Trial
from replab.records.values import Values
from replab.runs.compare import NOISE, against_scratch, answers_of, paired_p
from replab.runs.run import Run

EDGE = 0.05  # of the searched range, on a logarithmic scale


@dataclass(frozen=True)
class Finding:
    """`warning`: a reason to doubt the number; otherwise a check that found nothing."""

    warning: bool
    sentence: str


def audit(run: Run, others: Sequence[Run] = ()) -> list[Finding]:
    """What a run folder, and the finished runs beside it, can tell. Warnings first."""
    if not run.finished:
        raise RunError(f"run {run.id} is not finished; replab resume {run.id} finishes it")
    own, beside = Values(run.record), [other.values for other in others if other.id != run.id]
    findings = [*own_findings(own), *_seeds(own, beside), *_rivals(own, beside)]
    scratch = against_scratch(run, [other for other in others if other.id != run.id])
    findings += [Finding(False, f"Against training from scratch: {text}.") for text in scratch]
    return sorted(findings, key=lambda finding: not finding.warning)


def own_findings(run: Values) -> list[Finding]:
    """What a run folder alone can tell. Warnings first."""
    findings = [*_images(run), *_search(run), *_model(run), *_curve(run)]
    return sorted(findings, key=lambda finding: not finding.warning)


def _images(run: Values) -> Iterator[Finding]:
    data = run.input
    if "shared_images" not in data:
        return
    shared, n = data["shared_images"], data["test_images"]
    text = f"{shared:,} of {n:,} test images ({shared / n:.2%}) are also training images, to the last pixel."
    yield Finding(shared > 0, text)
    gap = abs(data["train_pixel_mean"] - data["test_pixel_mean"]) / max(data["train_pixel_std"], 1e-6)
    text = f"The mean pixel of test images is {gap:.2f} standard deviations from that of training images"
    yield Finding(gap > 0.5, text + (": are both at the same scale?" if gap > 0.5 else "."))


def _search(run: Values) -> Iterator[Finding]:
    trials, rate = run.trials, run.chosen.lr
    if not trials:
        yield Finding(False, "Nothing was searched: the settings were given, so nothing was chosen here.")
        return
    if rate is not None and any("lr" in t.params for t in trials):
        yield _edge(rate, run.chosen.search.lr)
    complete = [t for t in trials if t.state == "complete" and t.value is not None]
    if complete:
        yield from _alike(complete, run.split)
    failed = [t for t in trials if t.state == "failed"]
    if failed:
        yield Finding(False, f"{len(failed)} of {len(trials)} trials failed: {failed[0].reason}.")
    if run.recipe.epochs is None:
        factor = run.input["train_images"] / run.split["train_images"]
        yield Finding(
            factor > 1.5,
            f"The number of epochs was found on {run.split['train_images']:,} images and used on"
            f" {run.input['train_images']:,}: {factor:.2g} times the updates of the search.",
        )


def _edge(rate: float, span: tuple[float, float]) -> Finding:
    low, high = map(math.log, span)
    place = (math.log(rate) - low) / (high - low)
    at_edge = not EDGE <= place <= 1 - EDGE
    where = f"The chosen rate {rate:.3g} is {place:.0%} of the way from {span[0]:.2g} to {span[1]:.2g}"
    return Finding(at_edge, where + (": the best may lie outside." if at_edge else ", not at its edge."))


def _alike(complete: list[Trial], split: dict[str, Any]) -> Iterator[Finding]:
    """Trials as good as the best one, but for the error of its validation loss."""
    least = min(complete, key=_value)
    equal = [t for t in complete if _value(t) <= _value(least) + least.error]
    if len(equal) > 1 and all("lr" in t.params for t in equal):
        rates = [t.params["lr"] for t in equal]
        yield Finding(
            len(equal) > len(complete) / 2,
            f"{len(equal)} of {len(complete)} finished trials, rates {min(rates):.2g} to {max(rates):.2g}, are"
            f" within one standard error ({least.error:.3g}) of the best: {split['validation_images']:,} validation"
            " images cannot tell them apart.",
        )


def _value(trial: Trial) -> float:
    return math.inf if trial.value is None else trial.value


def _model(run: Values) -> Iterator[Finding]:
    change = run.facts.get("unsteadiness")
    if change is not None:
        text = f"In other batches the model's outputs change by {change:.1e} of their size"
        wrong = change > 1e-3
        yield Finding(wrong, text + (": part of it is still in train mode." if wrong else ": it is in eval mode."))
    for cut in run.cuts:
        yield Finding(True, cut.capitalize() + ".")


def _curve(run: Values) -> Iterator[Finding]:
    last = [row["test_accuracy"] for row in run.epochs[-5:] if "test_accuracy" in row]
    if len(last) == 5:
        n = run.input["test_images"]
        low, high = wilson(round(run.metrics.get("accuracy", 0.0) * n), n)
        moved = max(last) - min(last)
        more = moved > high - low
        text = f"Over the last five epochs test accuracy moved by {moved:.2%}"
        yield Finding(more, text + (", more than its interval: the last epoch is a draw." if more else "."))


def _seeds(run: Values, others: Sequence[Values]) -> Iterator[Finding]:
    mine = run.recipe.replace(seed=0)
    same = [
        other
        for other in others
        if other.recipe.seed != run.recipe.seed and other.recipe.model == mine.model
        and other.recipe.replace(seed=0) == mine
    ]  # fmt: skip
    seeds = 1 + len({other.recipe.seed for other in same})
    if seeds == 1:
        yield Finding(
            True, "One seed: how much the number would move with another is unknown; replab run --seeds 3 measures it."
        )
        return
    values = [one.metrics["accuracy"] for one in (run, *same) if "accuracy" in one.metrics]
    if len(values) > 1:
        spread = float(np.std(values, ddof=1))
        yield Finding(False, f"{seeds} seeds: mean {np.mean(values):.2%}, standard deviation {spread:.2%}.")


def _rivals(run: Values, others: Sequence[Values]) -> Iterator[Finding]:
    """The most accurate other model on the same images."""
    rivals = [
        other
        for other in others
        if other.input["fingerprint"] == run.input["fingerprint"] and other.chosen.model != run.chosen.model
    ]
    if not rivals:
        return
    rival = max(rivals, key=lambda other: other.metrics.get("accuracy", 0.0))
    p = paired_p(run.answers, answers_of(rival))
    if p is not None:
        gap = run.metrics.get("accuracy", 0.0) - rival.metrics.get("accuracy", 0.0)
        text = f"Against {rival.chosen.model} ({rival.record.id}) the difference of these two trained models is"
        text += f" {gap:+.2%}, McNemar's p = {p:.2g}"
        yield Finding(p > NOISE, text + (": within noise." if p > NOISE else ": more than noise."))
