"""Curves and searches as plain values, which the page's script draws: (title, x, y, series of points)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from replab.records.trial import Trial

Chart = dict[str, Any]

POINTS = 1000  # of a line: more cannot be told apart
TRIALS = 1000  # of a search


def curves(rows: Sequence[Mapping[str, Any]], final: Mapping[str, Any] = MappingProxyType({})) -> list[Chart]:
    """One chart per family of metrics, as in the figure: loss, accuracy, MSE, KL …

    `final`: the metrics of the end. Where no epoch's test images were evaluated, they are the one test point.
    """
    from replab.figures.curves import NAMES, families_of, split_of

    charts = []
    for family, names in families_of(rows).items():
        parts, series = list(dict.fromkeys(split_of(name)[1] for name in names)), []
        for name in names:
            split, part = split_of(name)
            text = " ".join(filter(None, (part if len(parts) > 1 else "", split))) or family
            place = parts.index(part) if len(parts) > 1 else int(split == "train")
            points = line(rows, name, 100 if family == "accuracy" else 1)
            series.append({"name": text, "colour": place, "dashed": split == "train", "points": points})
        end = finite(final.get(family), 100 if family == "accuracy" else 1)
        if end is not None and not any(name.startswith("test") for name in names):
            at_end = (float(rows[-1].get("epoch", len(rows))), end)
            series.append({"name": "test, at the end", "colour": 0, "dashed": False, "points": [at_end]})
        unit = "%" if family == "accuracy" else ""
        charts.append({"title": NAMES.get(family, family), "x": "epoch", "unit": unit, "series": series})
    return charts


def over_each_other(runs: Mapping[str, Sequence[Mapping[str, Any]]], metrics: Sequence[str]) -> list[Chart]:
    """The same metrics of several runs: a chart per metric, a line per run."""
    charts = []
    for metric in metrics:
        percent = metric.endswith("accuracy")
        lines = [(name, line(rows, metric, 100 if percent else 1)) for name, rows in runs.items()]
        series = [
            {"name": name, "colour": i, "dashed": False, "points": points}
            for i, (name, points) in enumerate(lines)
            if any(y is not None for _, y in points)
        ]
        if series:
            title = metric.replace("_", " ")
            charts.append({"title": title, "x": "epoch", "unit": "%" if percent else "", "series": series})
    return charts


def line(rows: Sequence[Mapping[str, Any]], name: str, factor: float = 1) -> list[tuple[float, float | None]]:
    """(epoch, value) of at most POINTS epochs that have it, the last among them; None for what is not finite."""
    rows = [row for row in rows if name in row]  # test images may be evaluated at the end alone
    step = -(-len(rows) // POINTS) or 1
    shown = [*rows[:-1:step], *rows[-1:]]
    return [(float(row.get("epoch", i + 1)), finite(row.get(name), factor)) for i, row in enumerate(shown)]


def finite(value: object, factor: float = 1) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(f"{value * factor:.7g}")


def search(trials: Sequence[Trial], chosen: Trial | None) -> list[Chart]:
    """One chart per searched parameter: each trial's best validation loss. Exploded and failed ones lie on the top."""
    from replab.figures.search import PANELS, heights_of, look_of

    ended = [trial for trial in trials if trial.state in ("complete", "pruned", "failed")][:TRIALS]
    names = list(dict.fromkeys(name for trial in ended for name in trial.params))[:PANELS]
    heights, _ = heights_of([trial.to_dict() for trial in ended])
    charts = []
    for name in names:
        tried = [trial.params.get(name) for trial in ended]
        numeric = all(finite(value) is not None for value in tried if value is not None)
        kinds = [] if numeric else list(dict.fromkeys(str(value) for value in tried if value is not None))
        looks: dict[str, list[dict[str, Any]]] = {}
        for trial, value, height in zip(ended, tried, heights):
            if value is None:
                continue
            point = {
                "x": finite(value) if numeric else kinds.index(str(value)),
                "y": finite(float(height)),
                "text": about(trial, name, value),
                "ring": chosen is not None and trial.number == chosen.number,
            }
            looks.setdefault(look_of(trial.to_dict(), float(height)), []).append(point)
        places = [float(value) for value in tried if numeric and value is not None]
        low, high = min(places, default=1.0), max(places, default=1.0)
        log = numeric and low > 0 and (name == "lr" or high / low >= 20)
        colours = {"complete": 0, "pruned": 1, "failed": 3, "off the scale": 4}
        series = [{"name": look, "colour": colours[look], "marks": points} for look, points in looks.items()]
        label = "learning rate" if name == "lr" else name
        chart = {"title": "best validation loss", "x": label, "unit": "", "log": log, "series": series, "kinds": kinds}
        charts.append(chart)
    return charts


def about(trial: Trial, name: str, value: object) -> str:
    """What a person reads at a point."""
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    loss = "no loss" if finite(trial.value) is None else f"loss {trial.value:.4g}"
    epoch = "" if trial.best_epoch is None else f" in epoch {trial.best_epoch}"
    return f"trial {trial.number + 1}, {trial.state}: {name} {shown}, {loss}{epoch}"
