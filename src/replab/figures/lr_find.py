"""The learning-rate test: loss while the rate rises, raw and smoothed, and the rate it suggests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from replab.figures import style


def lr_find(
    rates: Sequence[float],
    losses: Sequence[float],
    suggestion: float | None = None,
    smoothed: Sequence[float] | None = None,
    title: str = "",
    name: str = "Learning-rate test",
) -> Figure:
    """Losses may be NaN or infinite at the end, where training broke; `smoothed` is computed if not given."""
    if len(rates) != len(losses):
        raise ValueError(f"one loss per learning rate is needed: {len(rates)} rates, but {len(losses)} losses")
    x, raw = np.asarray(rates, dtype=float), style.finite(losses)
    good = np.isfinite(raw)
    if not good.any():
        return style.message("no step gave a finite loss", title or name)
    line = smooth(raw) if smoothed is None else style.finite(smoothed)
    if not title:
        title = name
        title += f": try {style.number(suggestion)}" if suggestion is not None else ": no rate to suggest"
    figure = style.new(6.2, 3.8, title)
    ax = figure.add_subplot()
    style.dress(ax, "learning rate", "training loss", grid="both")
    ax.plot(x, raw, color=style.SKY, linewidth=0.9, alpha=0.6, label="each step")
    ax.plot(x, line, color=style.BLUE, linewidth=2, label="smoothed")
    spare = max((x.max() / x.min()) ** 0.02, 1.05)
    ax.set_xlim(x.min() / spare, x.max() * spare)
    style.log_x(ax)
    # What counts is the fall before the blow-up: twice the loss at the start is the most that is shown.
    low, start = float(np.nanmin(raw)), float(raw[good][: max(1, good.sum() // 10)].max())
    high = min(float(np.nanmax(raw)), start + 0.5 * (start - low)) if start > low else float(np.nanmax(raw))
    room = 0.06 * (high - low) or 0.05 * abs(high) or 0.05
    ax.set_ylim(low - room, high + room)
    if not good.all():
        first = x[~good][0]
        ax.axvspan(first, x.max() * spare, color=style.FAINT, alpha=0.5, linewidth=0, label="loss not finite")
    if suggestion is not None:
        ax.axvline(suggestion, color=style.RED, linewidth=1.4, linestyle=(0, (4, 2)))
        known = np.isfinite(line)
        at = float(np.interp(np.log(suggestion), np.log(x[known]), line[known]))
        ax.plot(
            [suggestion],
            [at],
            "o",
            color=style.RED,
            markersize=7,
            zorder=5,
            label=f"suggested {style.number(suggestion)}",
        )
    ax.legend(loc="best", frameon=False, fontsize=style.SMALL)
    return figure


def smooth(values: np.ndarray, keep: float = 0.8) -> np.ndarray:
    """A moving average that forgets, without the pull to zero at the start, up to the first NaN."""
    result = np.full(len(values), np.nan)
    average = 0.0
    for i, value in enumerate(values):
        if not np.isfinite(value):
            break
        average = keep * average + (1 - keep) * value
        result[i] = average / (1 - keep ** (i + 1))
    return result
