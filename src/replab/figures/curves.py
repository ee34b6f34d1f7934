"""Curves over epochs: loss left, accuracy right, train dashed, test solid; one panel per family of metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from replab.figures import labels, style
from replab.figures.figure import figure

if TYPE_CHECKING:
    from replab.records.values import Values

SPLITS = ("train", "validation", "val", "test")
NOT_DRAWN = {"epoch", "lr", "seconds", "time", "step", "steps", "images", "ece", "se", "gradient", "iterations"}
NAMES = {"mse": "MSE", "kl": "KL", "real": "share taken for real"}
POINTS = 2000  # of a line: more cannot be told apart
PANELS = 12  # of a figure
LINES = 40  # of a panel that compares runs


@figure(place=10)
def curves(values: Values) -> Figure | None:
    """The losses and metrics of every epoch."""
    return draw_curves(with_end(values.epochs, values.metrics), title=values.title)


def with_end(rows: Sequence[Mapping[str, object]], metrics: Mapping[str, float]) -> list[Mapping[str, object]]:
    """Where test images were evaluated once, at the end, that is the last row's test loss and accuracy."""
    last = {f"test_{name}": metrics[name] for name in ("loss", "accuracy") if name in metrics}
    if not rows or not last.keys().isdisjoint(rows[-1]):
        return list(rows)
    return [*rows[:-1], {**last, **rows[-1]}]


def draw_curves(rows: Sequence[Mapping[str, object]], title: str = "") -> Figure:
    """Every metric of these rows (one per epoch), in one panel per family: loss, accuracy, MSE, KL …"""
    families = families_of(rows)
    if not families:
        return style.message("no epochs were recorded", title)
    figure, axes = panels(len(families), title)
    for ax, (family, names) in zip(axes, families.items()):
        parts = list(dict.fromkeys(split_of(name)[1] for name in names))
        lines = []
        for name in names:
            split, part = split_of(name)
            # One part: a colour per split. Several (generator, critic): a colour per part, and dashes tell splits.
            place = parts.index(part) if len(parts) > 1 else int(split == "train")
            text = " ".join(filter(None, (part if len(parts) > 1 else "", split)))
            lines.append((text, name, style.colour(place), (0, (4, 1.5)) if split == "train" else "-"))
        panel(ax, family, [(text, rows, name, *look) for text, name, *look in lines])
    return figure


def families_of(rows: Sequence[Mapping[str, object]]) -> dict[str, list[str]]:
    """Metrics that can be drawn, by what one panel shows together: loss first, then accuracy, then the others."""
    families: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        family = name.rpartition("_")[2]
        if family not in NOT_DRAWN and any(style.is_number(row.get(name)) for row in rows):
            families.setdefault(family, []).append(name)
    order = sorted(families, key=lambda family: {"loss": 0, "accuracy": 1}.get(family, 2))[:PANELS]
    return {family: families[family] for family in order}


def curves_of(
    runs: Mapping[str, Sequence[Mapping[str, object]]],
    metrics: Sequence[str] = ("test_loss", "test_accuracy"),
    title: str = "",
) -> Figure:
    """The same metrics of several runs: a panel per metric, a colour per run, of at most LINES runs.

    Metrics that no run has are left out.
    """
    if len(runs) > LINES:
        title = title or f"the first {LINES} of {len(runs):,} runs"
        runs = dict(list(runs.items())[:LINES])
    there = [m for m in metrics if any(style.is_number(row.get(m)) for rows in runs.values() for row in rows)]
    if not there:
        return style.message("no epochs were recorded", title)
    figure, axes = panels(len(there), title)
    for ax, metric in zip(axes, there):
        split, _ = split_of(metric)
        lines = [
            (style.short(name, 26), rows, metric, style.colour(i), style.dash(i))
            for i, (name, rows) in enumerate(runs.items())
            if any(style.is_number(row.get(metric)) for row in rows)
        ]
        panel(ax, metric.rpartition("_")[2], lines, split)
    return figure


def split_of(name: str) -> tuple[str, str]:
    """("train", "") of train_loss, ("", "critic") of critic_loss, ("test", "knn") of test_knn_accuracy."""
    words = name.split("_")[:-1]
    split = words.pop(0) if words and words[0] in SPLITS else ""
    return split, " ".join(words)


def panels(count: int, title: str) -> tuple[Figure, list[Axes]]:
    """Up to three panels per row."""
    columns = min(count, 3)
    rows = -(-count // columns)
    figure = style.new(1.0 + 4.3 * columns, 0.3 + 3.1 * rows, title)
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(count)]


def panel(ax: Axes, family: str, lines: Sequence[tuple], prefix: str = "") -> None:
    """Draw (text, rows, metric, colour, dash) lines of one family and write each end value at its line."""
    percent = family == "accuracy"
    name = " ".join(filter(None, (prefix, NAMES.get(family, family))))
    style.dress(ax, "epoch", "", name + (" (%)" if percent else ""))
    ends, drawn, broken, last = [], [], [], 1.0
    for text, rows, metric, colour, dash in lines:
        known = [row for row in rows if style.is_number(row.get(metric))]
        known = [*known[: -1 : -(-len(known) // POINTS)], known[-1]]
        epochs = np.array([row.get("epoch", i + 1) for i, row in enumerate(known)], dtype=float)
        values = style.finite(row[metric] for row in known) * (100 if percent else 1)
        last = max(last, epochs[-1])
        good = np.isfinite(values)
        marker = "o" if good.sum() <= 12 else None
        ax.plot(epochs, values, color=colour, linestyle=dash, linewidth=1.6, marker=marker, markersize=3.5)
        if not good.all():
            broken.append(int(epochs[~good][0]))
        if good.any():
            end = values[good][-1]
            drawn.append(values[good])
            ends.append((end, f"{text} {end:.2f} %" if percent else f"{text} {loss_text(end)}", colour))
    ax.set_xlim((0.5, 1.5) if last <= 1 else (1 - 0.02 * last, 1.015 * last))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, nbins=8))
    if not drawn:
        ax.set_yticks([])
    else:
        limit_y(ax, np.concatenate(drawn), percent)
        labels.at_line_ends(ax, [(y, text.strip(), colour) for y, text, colour in ends])
    if broken:
        ax.text(
            0.98,
            0.97,
            f"not finite in epoch {min(broken)}",
            transform=ax.transAxes,
            ha="right",
            va="top",
            fontsize=style.SMALL,
            color=style.RED,
        )


def loss_text(value: float) -> str:
    """As the axis beside it writes them: 0.0057 rather than 5.7e-3."""
    return f"{value:.3g}" if 1e-4 <= abs(value) < 1000 else style.number(value)


def limit_y(ax: Axes, values: np.ndarray, percent: bool) -> None:
    """Room around the values; a few exploded ones leave by the top edge, which then says how high."""
    low, high = float(values.min()), float(values.max())
    top = None if percent else style.ceiling(values, 0.8, 40)
    if top is not None:
        ax.text(
            0.5,
            0.99,
            f"▲ peak {style.number(high)}, cut off",
            transform=ax.transAxes,
            ha="center",
            va="top",
            fontsize=style.SMALL,
            color=style.GREY,
        )
        high = top
    room = 0.06 * (high - low) or 0.05 * max(abs(high), 1e-3)
    ax.set_ylim(low - room, min(high + room, 100.5) if percent and high <= 100 else high + room)
