"""Measured minus published, one line per replicated row: what holds lies on the line in the middle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from replab.figures import style

ROW = 0.235  # inches per row
TICKS = (-10, -5, -2, -1, -0.5, 0, 0.5, 1, 2, 5, 10)
GOOD, LEFT_OPEN = ("holds", "compatible", "better"), ("cannot tell", "indication")


def draw_published(rows: Sequence[Mapping[str, Any]], note: str = "") -> Figure:
    """Rows have id, data, published, measured, spread (None: one seed), n, margin and verdict; all in per cent."""
    if not rows:
        return style.message("nothing is measured yet", "Published and measured")
    figure = style.new(8.6, 1.35 + ROW * len(rows))
    ax = style.dress(figure.add_subplot(), "measured minus published, percentage points", grid="x")
    figure.suptitle("Published and measured", fontsize=style.TITLE, color=style.INK, fontweight="bold")
    for y, row in enumerate(rows):
        difference, colour = row["measured"] - row["published"], shade(row["verdict"])
        ax.barh(y, 2 * row["margin"], left=-row["margin"], height=0.62, color=style.FAINT, alpha=0.8, zorder=1)
        if row["spread"] is not None:
            ends = [difference - row["spread"], difference + row["spread"]]
            ax.plot(ends, [y, y], color=colour, linewidth=1.6, solid_capstyle="butt", zorder=2)
        face = colour if row["n"] > 1 else "white"
        ax.plot(difference, y, "o", color=colour, markerfacecolor=face, markersize=5.5, markeredgewidth=1.4, zorder=3)
        words = f"{row['published']:g} → {row['measured']:.2f} %   {row['verdict']}"
        ax.text(1.01, y, words, transform=ax.get_yaxis_transform(), va="center", fontsize=style.SMALL, color=colour)
    ax.axvline(0, color=style.GREY, linewidth=0.9, zorder=1.5)
    ax.set_xscale("symlog", linthresh=1, linscale=1.4)
    reach = max(abs(row["measured"] - row["published"]) + (row["spread"] or 0) for row in rows)
    reach = max(1.0, 1.25 * reach)
    ax.set(xlim=(-reach, reach), ylim=(len(rows) - 0.4, -0.6))
    ax.xaxis.set_major_locator(FixedLocator([tick for tick in TICKS if abs(tick) <= reach]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_yticks(range(len(rows)), [style.plain(f"{row['id']}  ({row['data']})") for row in rows])
    ax.tick_params(axis="y", length=0)
    legend = "grey: the margin for “holds” · line: ± one standard deviation over seeds · hollow: one seed"
    figure.supxlabel("\n".join(filter(None, (legend, note))), fontsize=style.SMALL, color=style.GREY)
    return figure


def shade(verdict: str) -> str:
    if verdict in GOOD:
        return style.GREEN if verdict != "better" else style.BLUE
    return style.GREY if verdict in LEFT_OPEN else style.RED
