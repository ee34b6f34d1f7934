"""Metrics of a classifier: a function `(logits (N, classes), labels (N,)) -> float` under `@metric`, one file each.

Every registered metric is measured after each epoch, is written to metrics.json under its own name and shown in the
report. `@metric(label=..., form=...)` says how: the default is the name and four significant digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from replab.records.statistics import wilson
from replab.registry import Kind

if TYPE_CHECKING:
    from replab.records.values import Values

metric = Kind("metric", "replab.tasks.metrics", "metric", "known: {names}")

Metric = Callable[[np.ndarray, np.ndarray], float]


def measure(logits: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Every registered metric, by the name it has in metrics.json."""
    return {key: float(of(logits, labels)) for key, of in _registered().items()}


def lines(values: Values) -> list[tuple[str, str]]:
    """(label, text) of those that a run measured, accuracy first and with its interval."""
    n, shown = values.input["test_images"], []
    for key, of in _registered().items():
        if key in values.metrics:
            value = values.metrics[key]
            text = format(value, getattr(of, "form", ".4g"))
            if key == "accuracy":
                low, high = wilson(round(value * n), n)
                text += f" (95 % interval {low:.2%} to {high:.2%}, n = {n:,})"
            shown.append((getattr(of, "label", key.replace("_", " ")), text))
    return shown


def _registered() -> dict[str, Metric]:
    return {name.replace("-", "_"): metric.get(name) for name in metric.names()}
