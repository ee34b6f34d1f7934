"""Models side by side: accuracy against what training cost, with the front no other model beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from replab.figures import labels, style

# Times as people say them, close enough together for any range to hold one.
ROUND = [
    (count * length, f"{count:g} {unit}")
    for unit, length, counts in (
        ("s", 1, (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30)),
        ("min", 60, (1, 2, 5, 10, 20, 30)),
        ("h", 3600, (1, 2, 5, 10)),
        ("d", 86400, (1, 2, 5, 10, 20, 50, 100)),
    )
    for count in counts
]


def accuracy_against_time(rows: Sequence[Mapping], title: str = "") -> Figure:
    """Rows have name, accuracy, low, high (0..1; the interval may be None) and training seconds."""
    drawn = [row for row in rows if usable(row)]
    if not drawn:
        return style.message("no model has both an accuracy and a training time", title)
    drawn.sort(key=lambda row: (row["seconds"], -row["accuracy"]))
    seconds = np.array([row["seconds"] for row in drawn], dtype=float)
    accuracy = 100 * np.array([row["accuracy"] for row in drawn], dtype=float)
    lows, highs = (
        np.array([100 * row[end] if style.is_number(row.get(end)) else np.nan for row in drawn])
        for end in ("low", "high")
    )
    figure = style.new(7.2, 4.6, title or "Accuracy against training time")
    ax = figure.add_subplot()
    left_out = len(rows) - len(drawn)
    note = f" ({left_out} without time or accuracy left out)" if left_out else ""
    style.dress(ax, "training time" + note, "test accuracy (%)", grid="both")
    best = front(accuracy)
    on_front = np.isin(np.arange(len(drawn)), best)
    # A single point would have a fraction of a decade around it, without a tick.
    start, edge = (seconds[0] / 5, seconds[0] * 5) if len(drawn) == 1 else (seconds.min() / 1.5, seconds.max() * 1.5)
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
    ax.set_xlim(start, edge)
    ax.set_xscale("log")
    ticks = [tick for tick in ROUND if start <= tick[0] <= edge]
    ticks = ticks[:: max(1, -(-len(ticks) // 9))]
    ax.set_xticks([value for value, _ in ticks], [text for _, text in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    floor, top = np.nanmin([accuracy, lows]), np.nanmax([accuracy, highs])
    room = 0.08 * (top - floor) or 1.0
    ax.set_ylim(floor - room, top + room)
    figure.legend(loc="outside lower center", frameon=False, fontsize=style.SMALL)
    points = list(zip(seconds, accuracy))
    colours = [style.GREEN if best_one else style.BLUE for best_one in on_front]  # crowded names find their points
    labels.beside(
        ax,
        points,
        [style.short(row["name"], 30) for row in drawn],
        size=8,
        first="upper left",
        colours=colours,
    )
    return figure


def usable(row: Mapping) -> bool:
    return bool(np.isfinite(style.finite([row.get("accuracy"), row.get("seconds")])).all()) and row["seconds"] > 0


def front(accuracy: np.ndarray) -> list[int]:
    """Places, in order of time, where the accuracy beats everything faster."""
    best = np.maximum.accumulate(np.concatenate([[-np.inf], accuracy[:-1]]))
    return [int(i) for i in np.flatnonzero(accuracy > best)]
