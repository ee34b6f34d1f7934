"""Images as points in two dimensions, coloured by class, mistakes marked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from replab.figures import style

NAMED = 20  # classes that get a colour and a name of their own


def embedding(
    points: np.ndarray, labels: np.ndarray, predicted: np.ndarray, classes: Sequence[str], title: str = ""
) -> Figure:
    """Points (N, 2) by true class; a cross on each that the model took for another."""
    if not len(points):
        return style.message("no images", title)
    figure = style.new(7.0, 5.2, title)
    ax = style.plane(figure.add_subplot())
    size = style.point_size(len(points))
    known = np.unique(labels)
    if len(known) > NAMED:
        ax.scatter(*points.T, s=size, linewidths=0, alpha=0.8, c=labels, cmap="hsv")
    for index in known if len(known) <= NAMED else ():
        own = points[labels == index]
        name = style.plain(style.short(classes[index], 20))
        look = {"color": style.colour(int(index)), "marker": style.marker(int(index)), "label": name}
        ax.scatter(*own.T, s=size, linewidths=0, alpha=0.8, **look)
    wrong = labels != predicted
    if wrong.any():
        name = f"mistaken ({wrong.sum():,})"
        ax.scatter(*points[wrong].T, s=1.5 * size, color=style.INK, marker="x", linewidths=0.7, label=name)
    if len(known) <= NAMED:
        ax.legend(frameon=False, fontsize=style.SMALL, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
