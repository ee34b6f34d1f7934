"""Runs that differ in their seed alone, as one line: mean, spread over seeds, and the chance in the test images.

Two such groups are compared as architectures: Welch's t over seeds, where McNemar's test compares two trained models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from replab.records import seeds
from replab.records.seeds import LEVEL, Summary
from replab.records.values import Values
from replab.runs.run import Run
from replab.settings.words import count


@dataclass(frozen=True)
class Group:
    """Runs of one recipe."""

    name: str
    values: dict[int, float]  # by seed: the test accuracy in per cent, or the test loss where there is none
    summary: Summary  # of them
    interval: tuple[float, float] | None  # bootstrap over seeds and images; None where the images differ
    what: str = "accuracy"  # or loss
    runs: tuple[Run, ...] = field(default=(), compare=False)  # by seed

    @property
    def unit(self) -> str:
        return " %" if self.what == "accuracy" else ""

    def text(self, value: float, sign: str = "") -> str:
        return f"{value:{sign}.{2 if self.what == 'accuracy' else 4}f}"


def groups(runs: Iterable[Run]) -> list[Group]:
    """The best mean first. Accuracies are compared where every run has one, losses otherwise."""
    alike: dict[str, dict[int, Run]] = {}
    for run in runs:
        alike.setdefault(run.values.recipe.replace(seed=0).to_toml(), {})[run.values.recipe.seed] = run
    all_ = [run.values.metrics for by_seed in alike.values() for run in by_seed.values()]
    what = next((name for name in ("accuracy", "loss") if all(name in metrics for metrics in all_)), None)
    found = [_group(dict(sorted(by_seed.items())), what) for by_seed in alike.values()] if what else []
    return sorted(found, key=lambda group: group.summary.mean * (-1 if what == "accuracy" else 1))


def _group(by_seed: dict[int, Run], what: str) -> Group:
    runs, values, errors = tuple(by_seed.values()), {}, list[float | None]()
    for seed, run in by_seed.items():
        value, n = run.values.metrics[what], run.values.input["test_images"]
        values[seed] = 100 * value if what == "accuracy" else value
        binomial = 100 * float(np.sqrt(max(0.0, value * (1 - value)) / n)) if what == "accuracy" else None
        errors.append(run.values.metrics.get("loss_se") if what == "loss" else binomial)
    interval = None
    if what == "accuracy" and same_images(runs):
        right = [own.right for run in runs if (own := Values(run.record).answers) is not None]
        if len(right) == len(runs):
            low, high = seeds.bootstrap(np.stack(right))
            interval = (100 * low, 100 * high)
    summary = seeds.summarise(list(values.values()), errors)
    return Group(runs[0].values.chosen.model, values, summary, interval, what, runs)


def same_images(runs: Sequence[Run]) -> bool:
    return len({run.values.input["fingerprint"] for run in runs}) == 1


def redrawn(runs: Sequence[Run]) -> str:
    """What a seed redraws in these runs, and what it does not."""
    drawn = "A seed redraws the initial weights, the order of the batches, dropout, augmentation and a search's split"
    if same_images(runs):
        return f"{drawn}; the test images stay the same."
    return f"{drawn}; here also which images are used (--limit), so the spread has the chance of the images in it."


def lines(found: Sequence[Group]) -> list[tuple[str, str]]:
    """(name, text): each group, then the best against each other one."""
    out = []
    for group in found:
        mean, spread, n, images = group.summary
        text = group.text(mean) + ("" if spread is None else f" ± {group.text(spread)}")
        text += f"{group.unit} over {count(n, 'seed')}"
        text += "" if images is None else f"; drawing test images: {group.text(images)}"
        if group.interval:
            text += f"; 95 % of both {group.text(group.interval[0])} to {group.text(group.interval[1])}"
        out.append((group.name, text))
    return out + comparisons(found)


def comparisons(found: Sequence[Group]) -> list[tuple[str, str]]:
    """(pair, text): the best group against each other one, by Welch's t over seeds; Holm's p-values."""
    best, rest = found[0], [g for g in found[1:] if g.summary.spread is not None]
    if best.summary.spread is None or not rest:
        return []
    out, points = [], "points" if best.what == "accuracy" else "of loss"
    gaps = [seeds.welch(best.summary, other.summary) for other in rest]
    for other, gap, p in zip(rest, gaps, seeds.holm([seeds.p_differs(*gap) for gap in gaps])):
        ahead, than = seeds.superiority(list(best.values.values()), list(other.values.values())), ">"
        if best.what == "loss":
            ahead, than = 1 - ahead, "<"
        low, high = (best.text(end, "+") for end in gap.interval())
        text = f"{best.text(gap.gap, '+')} {points}, 95 % interval {low} to {high}, Welch's p = {p:.2g}"
        text += f" (Holm), P({best.name} {than} {other.name}) = {ahead:.2f}"
        if p >= LEVEL:
            text += f": within noise, {gap.detectable():.2g} {points} would have been seen with 80 % power"
        out.append((f"{best.name} over {other.name}", text))
    return out
