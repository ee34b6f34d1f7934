"""How often each code of a codebook is used, the most used first; unused ones are counted in words."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from replab.figures import style


def codebook(usage: np.ndarray, title: str = "codebook usage") -> Figure:
    """usage (codes,): how many places of the test images have each code."""
    total = usage.sum()
    if not total:
        return style.message("no code was used", title)
    figure = style.new(6.5, 3.0, title)
    ax = style.dress(figure.add_subplot(), "code, by use", "% of places")
    share = 100 * np.sort(usage)[::-1] / total
    ax.stairs(share, np.arange(len(share) + 1) - 0.5, fill=True, color=style.BLUE)  # one shape, however many codes
    ax.axhline(100 / len(share), color=style.GREY, linewidth=0.8, linestyle="--")
    text = f"{int((usage == 0).sum())} of {len(usage)} never used; dashed: all used alike"
    ax.text(0.98, 0.95, text, transform=ax.transAxes, ha="right", va="top", fontsize=style.SMALL, color=style.INK)
    return figure
