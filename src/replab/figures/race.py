"""A race between models: validation accuracy against the seconds that each was trained for, round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from replab.figures import labels, style


def draw_race(rounds: Mapping[str, Sequence[Mapping[str, Any]]], title: str = "") -> Figure:
    """`rounds`: model → its rounds, with accuracy and seconds. The line of a model ends where it was dropped."""
    figure = style.new(7.5, 4.2, title or "Race: validation accuracy by training time")
    ax = figure.add_subplot()
    style.dress(ax, "seconds of training in the round", "", "validation accuracy (%)")
    ends = []
    for place, (name, each) in enumerate(rounds.items()):
        seconds, accuracy = [r["seconds"] for r in each], [100 * r["accuracy"] for r in each]
        ax.plot(seconds, accuracy, "-o", color=style.colour(place), linewidth=1.5, markersize=4)
        ends.append((accuracy[-1], f"{name} {accuracy[-1]:.1f} %", style.colour(place)))
    labels.at_line_ends(ax, ends)
    return figure
