"""A hyperparameter search: each trial's best validation loss against what was tried; the chosen ringed."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from replab.figures import labels, style
from replab.figures.figure import figure

if TYPE_CHECKING:
    from replab.records.values import Values

LOOKS = {  # marker, colour, filled
    "complete": ("o", style.BLUE, True),
    "pruned": ("D", style.ORANGE, False),
    "failed": ("X", style.RED, True),
    "off the scale": ("^", style.BLUE, True),
}


NUMBERED = 60  # trials whose epoch is written beside them: the best ones
PANELS = 12  # searched parameters that are drawn
MANY = 300  # from here on trials are drawn smaller


@figure(place=20)
def search(values: Values) -> Figure | None:
    """What the search tried; nothing where everything was given."""
    if not values.trials:
        return None
    chosen = values.chosen_trial
    number, trials = None if chosen is None else chosen.number, [trial.to_dict() for trial in values.trials]
    return draw_search(trials, number, headline(trials, number, values.title))


def draw_search(trials: Sequence[Mapping], chosen: int | None = None, title: str = "") -> Figure:
    """One panel per searched parameter. Trials without a finite value, and exploded ones, lie on the top edge.

    The small number beside a point is the epoch of its best value.
    """
    trials = [trial for trial in trials if trial["state"] in LOOKS]  # not those still running
    names = list(dict.fromkeys(name for trial in trials for name in trial["params"]))[:PANELS]
    if not names:
        return style.message("no trial has been made yet", title or "Search")
    columns = min(len(names), 3)
    rows = -(-len(names) // columns)
    figure = style.new(1.2 + 4.4 * columns, 0.8 + 3.2 * rows, title or headline(trials, chosen))
    heights, top = heights_of(trials)
    panels = []
    for i, name in enumerate(names):
        ax = figure.add_subplot(rows, columns, i + 1)
        panels.append((ax, draw_panel(ax, name, trials, heights, top, chosen)))
        if i % columns == 0:
            ax.set_ylabel("best validation loss\n(small number: its epoch)", fontsize=style.LABEL, color=style.INK)
    figure.legend(
        handles=legend(trials, heights, top, chosen),
        loc="outside lower center",
        ncols=5,
        columnspacing=1.2,
        handletextpad=0.2,
        frameon=False,
        fontsize=style.SMALL + 0.5,
    )
    # last, because labels need the final layout; the best trials first, so that they get the room
    for ax, points in panels:
        shown = sorted(points, key=lambda item: (item[1], item[0]))[:NUMBERED]
        radii = [8.0 if ring else 4.0 for *_, ring in shown]
        labels.beside(ax, [(x, y) for x, y, *_ in shown], [text for _, _, text, _ in shown], 7, True, radii=radii)
    return figure


def headline(trials: Sequence[Mapping], chosen: int | None, name: str = "Search") -> str:
    """ "Search: 12 trials, 3 pruned, 1 failed; chosen: lr 0.0012, loss 0.31"."""
    words = [f"{len(trials)} trial{'s' * (len(trials) != 1)}"]
    for state in ("pruned", "failed"):
        count = sum(trial["state"] == state for trial in trials)
        words += [f"{count} {state}"] if count else []
    best = next((trial for trial in trials if trial["number"] == chosen), None)
    text = ", ".join(words)
    if best is None:
        return f"{name}: {text}"
    settings = ", ".join(f"{name} {value_text(value)}" for name, value in best["params"].items())
    loss = f", loss {style.number(best['value'])}" if style.is_number(best.get("value")) else ""
    return f"{name}: {text}\nchosen: {settings}{loss}"


def value_text(value: object) -> str:
    return style.number(value) if isinstance(value, float) else str(value)


def heights_of(trials: Sequence[Mapping]) -> tuple[np.ndarray, float]:
    """Where each trial lies (NaN: on the top edge), and the largest height shown in full."""
    failed = [trial["state"] == "failed" for trial in trials]
    heights = style.finite(trial.get("value") for trial in trials)
    heights[failed] = math.nan
    if not np.isfinite(heights).any():
        return heights, math.nan
    top = style.ceiling(heights, 0.5, 10)
    if top is None:
        top = float(np.nanmax(heights))
    return np.where(heights <= top, heights, math.nan), top


def look_of(trial: Mapping, height: float) -> str:
    """What a trial is drawn as: its state, or "off the scale"."""
    state = trial["state"]
    return "off the scale" if state == "complete" and not math.isfinite(height) else state


def draw_panel(
    ax: Axes, name: str, trials: Sequence[Mapping], heights: np.ndarray, top: float, chosen: int | None
) -> list[tuple[float, float, str, bool]]:
    """Draw one panel; its points come back with their texts, to be written when the layout is known."""
    style.dress(ax, "learning rate" if name == "lr" else name, "", grid="both")
    places = scale_x(ax, name, [trial["params"].get(name) for trial in trials])
    known = heights[np.isfinite(heights)]
    low = float(known.min()) if len(known) else 0.0
    room = (0.12 * (top - low) or 0.1 * abs(top) or 0.1) if len(known) else 1.0
    edge = top + 1.6 * room if len(known) else 1.0
    ax.set_ylim(low - room, edge)
    if not len(known):
        ax.set_yticks([])
        reason = next((trial["reason"] for trial in trials if trial.get("reason")), "")
        text = textwrap.fill(f"no trial ended with a finite loss. {reason}", 44)
        ax.text(0.5, 0.5, style.plain(text), transform=ax.transAxes, ha="center", va="center", color=style.GREY)
    shown, points = [], dict[str, list[tuple[float, float]]]()
    for trial, x, height in zip(trials, places, heights):
        if x is None:
            continue
        y = height if math.isfinite(height) else edge
        points.setdefault(look_of(trial, height), []).append((x, y))
        if trial["number"] == chosen:
            ax.plot([x], [y], "o", color=style.INK, markerfacecolor="none", markersize=13, clip_on=False, zorder=5)
        value = trial.get("value")
        text = "" if trial.get("best_epoch") is None or trial["state"] == "failed" else str(trial["best_epoch"])
        if trial["state"] != "failed" and not math.isfinite(height) and value is not None:
            text = style.number(value)  # on the edge: how far off it really was
        shown.append((x, y, text, trial["number"] == chosen))
    size = 6 if len(shown) < MANY else 3
    for look, own in points.items():
        marker, colour, filled = LOOKS[look]
        above = 4.5 if look == "complete" else 4
        line = ax.plot(*zip(*own), marker=marker, color=colour, linestyle="", markersize=size, zorder=above)[0]
        line.set(markerfacecolor=colour if filled else "white", clip_on=False)
    return shown


def scale_x(ax: Axes, name: str, values: Sequence[object]) -> list[float | None]:
    """Set up the x-axis for these values (log, linear or named) and say where each of them lies."""
    given = [value for value in values if value is not None]
    if not all(style.is_number(value) for value in given):  # names, or True and False: one place each
        kinds = list(dict.fromkeys(str(value) for value in given))
        ax.set_xticks(range(len(kinds)), [style.plain(style.short(kind, 16)) for kind in kinds])
        ax.set_xlim(-0.6, len(kinds) - 0.4)
        return [None if value is None else float(kinds.index(str(value))) for value in values]
    places = [None if value is None else float(value) for value in values]  # type: ignore[arg-type]
    low, high = min(p for p in places if p is not None), max(p for p in places if p is not None)
    if low > 0 and (name == "lr" or high / low >= 20):
        spare = max((high / low) ** 0.08, 1.4)
        ax.set_xlim(low / spare, high * spare)
        style.log_x(ax)
    else:
        spare = 0.08 * (high - low) or 0.5 * abs(high) or 1.0
        ax.set_xlim(low - spare, high + spare)
    return places


def legend(trials: Sequence[Mapping], heights: np.ndarray, top: float, chosen: int | None) -> list[Line2D]:
    """One entry for each look that occurs."""
    looks = {look_of(trial, height) for trial, height in zip(trials, heights)}
    entries = []
    for look, (marker, colour, filled) in LOOKS.items():
        if look in looks:
            face = colour if filled else "white"
            entries.append(Line2D([], [], marker=marker, color=colour, markerfacecolor=face, linestyle="", label=look))
    if any(trial["number"] == chosen for trial in trials):
        ring = Line2D([], [], marker="o", color=style.INK, markerfacecolor="none", markersize=10, linestyle="")
        ring.set_label("chosen")
        entries.append(ring)
    return entries
