"""Runs of several seeds in one picture: each seed's number, mean, spread and interval left; their curves right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from replab.figures import labels, style

CURVES = ("test_accuracy", "test_loss", "train_accuracy", "train_loss")  # the first that all have


def draw_seeds(groups: Sequence[Mapping[str, Any]], title: str = "") -> Figure:
    """Groups have name, what (accuracy in per cent, or loss), values, mean, spread, interval and epochs (rows by seed).

    `spread` and `interval` may be None; groups are drawn from top to bottom.
    """
    if not groups:
        return style.message("no run has an accuracy or a loss", title)
    figure = style.new(9.6, max(3.3, 1.9 + 0.5 * len(groups)), title)
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.0))
    dots(left, groups)
    curves(right, groups)
    note = "dots: seeds · bar: ± one standard deviation over seeds · thin line: 95 % of the mean, seeds and images"
    figure.supxlabel(note, fontsize=style.SMALL, color=style.GREY)
    return figure


def dots(ax: Axes, groups: Sequence[Mapping[str, Any]]) -> None:
    percent = groups[0]["what"] == "accuracy"
    style.dress(ax, "test accuracy (%)" if percent else "test loss", grid="x")
    for y, group in enumerate(groups):
        mean, colour = group["mean"], style.colour(y)
        if group["interval"] is not None:
            ax.plot(group["interval"], [y, y], color=colour, linewidth=1.0, zorder=1)
        if group["spread"] is not None:
            ends = [mean - group["spread"], mean + group["spread"]]
            ax.plot(ends, [y, y], color=colour, linewidth=7, alpha=0.35, solid_capstyle="butt", zorder=2)
        ax.plot(group["values"], [y] * len(group["values"]), "o", color=colour, markersize=4.5, alpha=0.8, zorder=3)
        spread = "" if group["spread"] is None else f" ± {group['spread']:.{2 if percent else 4}f}"
        text = f"{mean:.{2 if percent else 4}f}{spread}" + (" %" if percent else "")
        ax.annotate(
            text, (mean, y), (0, 8), textcoords="offset points", ha="center", fontsize=style.SMALL, color=style.INK
        )
    ax.set_ylim(len(groups) - 0.4, -0.7)
    ax.set_yticks(range(len(groups)), [style.plain(style.short(group["name"], 24)) for group in groups])
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_locator(MaxNLocator(5))


def curves(ax: Axes, groups: Sequence[Mapping[str, Any]]) -> None:
    """The mean over seeds after each epoch, and from the least to the largest of them."""
    rows = [seed for group in groups for seed in group["epochs"]]
    column = next((name for name in CURVES if rows and all(seed and name in seed[0] for seed in rows)), None)
    if column is None:
        ax.set_axis_off()
        return
    percent, ends, last = column.endswith("accuracy"), [], 1
    style.dress(ax, "epoch", "", column.replace("_", " ") + (" (%)" if percent else ""))
    for place, group in enumerate(groups):
        shared = min(len(seed) for seed in group["epochs"])  # searches may have found different numbers
        table = np.array([[row[column] for row in seed[:shared]] for seed in group["epochs"]], float)
        table, epochs = table * (100 if percent else 1), np.arange(1, shared + 1)
        colour, middle, last = style.colour(place), table.mean(0), max(last, shared)
        ax.fill_between(epochs, table.min(0), table.max(0), color=colour, alpha=0.2, linewidth=0)
        ax.plot(epochs, middle, color=colour, linewidth=1.6, marker="o" if shared <= 12 else None, markersize=3)
        ends.append((float(middle[-1]), style.short(group["name"], 24), colour))
    ax.set_xlim((0.5, 1.5) if last == 1 else (1 - 0.02 * last, 1.015 * last))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, nbins=8))
    labels.at_line_ends(ax, ends)
