"""Figures of a report: a function `(values) -> Figure | None` under `@figure`, one file each.

`values` are the run's plain values (records/values.py); None means that this run has nothing to draw. The figure is
written to figures/NAME.png. `@figure(place=N)` says where it stands: smaller numbers come first, the task's own
figures stand at TASK, and a figure without a place comes last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from replab.registry import Kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from replab.records.values import Values

figure = Kind("figure", "replab.figures", "figure", "known: {names}")

TASK, LAST = 50, 1000

Draw = Callable[["Values"], "Figure | None"]


def in_order() -> list[tuple[int, str, Draw]]:
    """(place, name, function) of every registered figure, as a report shows them."""
    entries = [(name, figure.get(name)) for name in figure.names()]
    return sorted((int(getattr(draw, "place", LAST)), name, draw) for name, draw in entries)
