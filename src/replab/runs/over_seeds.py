"""Runs that differ in their seed alone, as one line: mean, spread over seeds, and the chance in the test images.

Two such groups are compared as architectures: Welch's t over seeds, where McNemar's test compares two trained models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from replab.records import seeds
from replab.records.seeds import LEVEL, Summary
from replab.records.values import Values
from replab.runs.run import Run

REDRAWN = (
    "A seed redraws the initial weights, the order of the batches, dropout, augmentation and a search's split; the test"
    " images stay the same."
)


@dataclass(frozen=True)
class Group:
    """Runs of one recipe."""

    name: str
    accuracies: dict[int, float]  # by seed, in percent
    summary: Summary  # of them
    interval: tuple[float, float] | None  # bootstrap over seeds and images; None where the images differ


def groups(runs: Iterable[Run]) -> list[Group]:
    """The best mean first. Runs without an accuracy are left out."""
    alike: dict[str, dict[int, Run]] = {}
    for run in runs:
        if "accuracy" in run.values.metrics:
            key = run.values.recipe.replace(seed=0).to_toml()
            alike.setdefault(key, {})[run.values.recipe.seed] = run
    return sorted((_group(by_seed) for by_seed in alike.values()), key=lambda group: -group.summary.mean)


def _group(by_seed: dict[int, Run]) -> Group:
    accuracies = {seed: 100 * run.values.metrics["accuracy"] for seed, run in sorted(by_seed.items())}
    images = [run.values.input["test_images"] for run in by_seed.values()]
    errors = [100 * float(np.sqrt(a / 100 * (1 - a / 100) / n)) for a, n in zip(accuracies.values(), images)]
    right = [own.right for run in by_seed.values() if (own := Values(run.record).answers) is not None]
    same = len({run.values.input["fingerprint"] for run in by_seed.values()}) == 1  # --limit draws images by the seed
    low_high = seeds.bootstrap(np.stack(right)) if same and len(right) == len(by_seed) else None
    interval = (100 * low_high[0], 100 * low_high[1]) if low_high else None
    summary = seeds.summarise(list(accuracies.values()), errors)
    return Group(next(iter(by_seed.values())).values.chosen.model, accuracies, summary, interval)


def lines(found: Sequence[Group]) -> list[tuple[str, str]]:
    """(name, text): each group, then the best against each other one."""
    out = []
    for group in found:
        mean, spread, n, images = group.summary
        text = f"{mean:.2f}" + ("" if spread is None else f" ± {spread:.2f}") + f" % over {n} seed{'s' * (n > 1)}"
        text += f"; drawing test images: {images:.2f}"
        if group.interval:
            text += f"; 95 % of both {group.interval[0]:.2f} to {group.interval[1]:.2f}"
        out.append((group.name, text))
    best, rest = found[0], [g for g in found[1:] if g.summary.spread is not None]
    if best.summary.spread is not None and rest:
        gaps = [seeds.welch(best.summary, other.summary) for other in rest]
        for other, gap, p in zip(rest, gaps, seeds.holm([seeds.p_differs(*gap) for gap in gaps])):
            ahead = seeds.superiority(list(best.accuracies.values()), list(other.accuracies.values()))
            low, high = gap.interval()
            text = f"{gap.gap:+.2f} points, 95 % interval {low:+.2f} to {high:+.2f}, Welch's p = {p:.2g}"
            text += f" (Holm), P({best.name} > {other.name}) = {ahead:.2f}"
            if p >= LEVEL:
                text += f": within noise, {gap.detectable():.2g} points would have been seen with 80 % power"
            out.append((f"{best.name} over {other.name}", text))
    return out
