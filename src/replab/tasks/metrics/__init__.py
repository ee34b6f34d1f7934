"""Metrics of a classifier: a function `(logits (N, classes), labels (N,)) -> float` under `@metric`, one file each.

Those of `@metric(always=True)` are measured in every run, others where --metric asks for them: after each epoch, and
with a 95 % interval in metrics.json at the end. `label` and `form` say how a report shows one: by default its name and
four digits. `interval` is its own (logits, labels) -> (low, high); without one, test images are drawn again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from replab.backends.own_parts import Parts
from replab.errors import RecipeError
from replab.records.statistics import wilson
from replab.settings.choices import metric as metric  # the decorator of a metric: @metric
from replab.settings.own_parts import is_own

if TYPE_CHECKING:
    from replab.records.values import Values

Metric = Callable[[np.ndarray, np.ndarray], float]

DRAWS = 1000  # of the test images with replacement, for an interval


def key_of(name: str) -> str:
    """In metrics.json: macro-f1 → macro_f1, mine.py:share → share."""
    return (name.rpartition(":")[2] if is_own(name) else name).replace("-", "_")


def always() -> list[str]:
    """Those of every run, accuracy first."""
    return [name for name in metric.names() if getattr(metric.get(name), "always", False)]


def to_measure(chosen: Sequence[str], parts: Parts) -> dict[str, Metric]:
    """Those of every run and the chosen ones, by the name they have in metrics.json."""
    found: dict[str, Metric] = {key_of(name): metric.get(name) for name in always()}
    for name in chosen:
        if is_own(name) and key_of(name) in (*found, *map(key_of, metric.names())):
            raise RecipeError(f"a metric of your own needs a name of its own, got {name}; rename the function")
        found[key_of(name)] = parts.choose(metric, name)
    return found


def measure(logits: np.ndarray, labels: np.ndarray, metrics: Mapping[str, Metric] | None = None) -> dict[str, float]:
    """Each metric's value; without `metrics`, those of every run."""
    metrics = to_measure((), Parts()) if metrics is None else metrics
    return {key: float(of(logits, labels)) for key, of in metrics.items()}


def intervals(logits: np.ndarray, labels: np.ndarray, metrics: Mapping[str, Metric]) -> dict[str, float]:
    """NAME_low and NAME_high, 95 %, of the metrics that were asked for."""
    found: dict[str, float] = {}
    for key, of in metrics.items():
        if not getattr(of, "always", False):
            own = getattr(of, "interval", None)
            low, high = own(logits, labels) if own else bootstrap(of, logits, labels)
            found |= {f"{key}_low": float(low), f"{key}_high": float(high)}
    return found


def bootstrap(of: Metric, logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """95 % of what the metric is on test images drawn with replacement; the same draws in every run."""
    generator = np.random.default_rng(0)
    drawn = []
    for _ in range(DRAWS):
        index = generator.integers(0, len(labels), len(labels))
        drawn.append(of(logits[index], labels[index]))
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def lines(values: Values) -> list[tuple[str, str]]:
    """(label, text) of those that a run measured, accuracy first, with intervals. No code of a run is imported."""
    n, shown = values.input["test_images"], []
    for name in dict.fromkeys([*always(), *values.chosen.metric]):
        key = key_of(name)
        if key not in values.metrics:
            continue
        of = metric.get(name) if name in metric.names() else None
        form = getattr(of, "form", ".4g")
        text = format(values.metrics[key], form)
        if key == "accuracy":
            low, high = wilson(round(values.metrics[key] * n), n)
            text += f" (95 % interval {low:.2%} to {high:.2%}, n = {n:,})"
        elif f"{key}_low" in values.metrics:
            low, high = values.metrics[f"{key}_low"], values.metrics[f"{key}_high"]
            text += f" (95 % interval {low:{form}} to {high:{form}})"
        shown.append((getattr(of, "label", key.replace("_", " ")), text))
    return shown
