"""Models side by side: accuracy against what training cost, with the front no other model beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from replab.figures import labels, style


def accuracy_against_time(rows: Sequence[Mapping], title: str = "") -> Figure:
    """Rows have name, accuracy, low, high (0..1; the interval may be None) and training seconds."""
    kept = [row for row in rows if usable(row)]
    if not kept:
        return style.message("no model has both an accuracy and a training time", title)
    kept.sort(key=lambda row: (row["seconds"], -row["accuracy"]))
    seconds = np.array([row["seconds"] for row in kept], dtype=float)
    accuracy = 100 * np.array([row["accuracy"] for row in kept], dtype=float)
    lows, highs = (
        np.array([100 * row[end] if style.is_number(row.get(end)) else np.nan for row in kept])
        for end in ("low", "high")
    )
    figure = style.new(7.2, 4.6, title or "Accuracy against training time")
    ax = figure.add_subplot()
    left_out = len(rows) - len(kept)
    note = f" ({left_out} without time or accuracy left out)" if left_out else ""
    style.dress(ax, "training time" + note, "test accuracy (%)", grid="both")
    best = front(accuracy)
    on_front = np.isin(np.arange(len(kept)), best)
    edge = seconds.max() * 1.5
    ax.step(
        [*seconds[best], edge],
        [*accuracy[best], accuracy[best[-1]]],
        where="post",
        color=style.GREEN,
        linewidth=1.3,
        label="best for its time",
        zorder=2,
    )
    for mask, colour in ((on_front, style.GREEN), (~on_front, style.BLUE)):
        reach = np.nan_to_num(np.array([accuracy - lows, highs - accuracy]).clip(0, None))
        ax.errorbar(
            seconds[mask],
            accuracy[mask],
            reach[:, mask],
            fmt="o",
            color=colour,
            markersize=5.5,
            elinewidth=1,
            capsize=2.5,
            zorder=3,
        )
    ax.set_xlim(seconds.min() / 1.5, edge)
    style.log_x(ax)
    ax.xaxis.set_major_formatter(lambda value, _: duration(value))
    floor, top = np.nanmin([accuracy, lows]), np.nanmax([accuracy, highs])
    room = 0.08 * (top - floor) or 1.0
    ax.set_ylim(floor - room, top + room)
    ax.legend(loc="lower right", frameon=False, fontsize=style.SMALL)
    points = list(zip(seconds, accuracy))
    labels.beside(ax, points, [style.short(row["name"], 30) for row in kept], size=8)
    return figure


def usable(row: Mapping) -> bool:
    return (
        bool(np.isfinite(style.finite([row.get("accuracy"), row.get("seconds")])).all())
        and row["seconds"] > 0
    )


def front(accuracy: np.ndarray) -> list[int]:
    """Places, in order of time, where the accuracy beats everything faster."""
    best = np.maximum.accumulate(np.concatenate([[-np.inf], accuracy[:-1]]))
    return [int(i) for i in np.flatnonzero(accuracy > best)]


def duration(seconds: float) -> str:
    """Seconds as people say them: 0.5 s, 30 s, 5 min, 2 h."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return (
                f"{seconds / length:.2g} {unit}"
                if seconds < 100 * length
                else f"{seconds / length:,.0f} {unit}"
            )
    return f"{seconds:.3g} s"
