"""Loss against learning rate, a line per width, standard on the left and muP on the right; and the coordinate check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from replab.figures import style


def transfer(points: Sequence[Mapping[str, Any]], title: str = "") -> Figure:
    """Points are dicts of way, width, lr and loss (None where training diverged); the best of each line is ringed."""
    ways = list(dict.fromkeys(p["way"] for p in points))
    if not ways:
        return style.message("nothing was measured", title)
    figure = style.new(4.2 * len(ways), 3.4, title)
    axes = figure.subplots(1, len(ways), sharey=True, squeeze=False)[0]
    widths = sorted({p["width"] for p in points})
    for ax, way in zip(axes, ways):
        style.dress(ax, "learning rate", "validation loss" if ax is axes[0] else "", way)
        for index, width in enumerate(widths):
            line = [p for p in points if (p["way"], p["width"]) == (way, width) and p["loss"] is not None]
            own = sorted((p["lr"], p["loss"]) for p in line)
            if not own:
                continue
            rates, losses = zip(*own)
            ax.plot(rates, losses, marker="o", markersize=3, color=style.colour(index), label=f"width {width}")
            best = min(own, key=lambda pair: pair[1])
            ax.plot(*best, marker="o", markersize=9, fillstyle="none", color=style.colour(index))
        style.log_x(ax)
    shown = [p["loss"] for p in points if p["loss"] is not None]
    top = style.ceiling(shown, 0.75, 3.0)
    if top is not None:
        room = 0.06 * (top - min(shown))
        axes[0].set_ylim(min(shown) - room, top + room)
    axes[0].legend(frameon=False, fontsize=style.SMALL)
    return figure


def coordinates(sizes: Mapping[str, Mapping[str, Mapping[int, Sequence[float]]]], title: str = "") -> Figure:
    """Mean |output| against width, a line per training step, a row per layer, a column per parametrisation.

    Lines that stay level pass the coordinate check; those that rise blow up with width.
    """
    if not sizes:
        return style.message("nothing was measured", title)
    ways = list(next(iter(sizes.values())))
    figure = style.new(4.2 * len(ways), 2.7 * len(sizes) + 0.3, title)
    axes = figure.subplots(len(sizes), len(ways), sharex=True, sharey="row", squeeze=False)
    for place, (layer, by_way) in enumerate(sizes.items()):
        for ax, (way, by_width) in zip(axes[place], by_way.items()):
            label = f"mean |{layer}|" if way == ways[0] else ""
            style.dress(ax, "width" if place == len(sizes) - 1 else "", label, "" if place else way)
            widths = sorted(by_width)
            for step in range(len(by_width[widths[0]])):
                ax.plot(widths, [by_width[w][step] for w in widths], marker="o", markersize=3,
                        color=style.colour(step), label=f"step {step}")  # fmt: skip
            ax.set(xscale="log", yscale="log")
            ax.set_xticks(widths, [str(w) for w in widths], minor=False)
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter(lambda value, place: f"{value:g}")
            ax.minorticks_off()
    lines = axes[0][0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside right center", frameon=False, fontsize=style.SMALL)
    return figure
