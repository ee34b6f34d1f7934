"""Points of a latent space in the plane, coloured by group: the same points once per grouping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from replab.figures import style

NAMED = 20  # groups that get a colour and a name of their own


def latent(
    points: np.ndarray, groupings: Mapping[str, tuple[np.ndarray, Sequence[str]]], title: str = "t-SNE of latent means"
) -> Figure:
    """points (N, 2); one panel per grouping, name → (group of each point, the groups' names)."""
    figure = style.new(5.2 * len(groupings) + 0.3, 5.0, title)
    size = style.point_size(len(points))
    for place, (name, (group, names)) in enumerate(groupings.items(), 1):
        ax = figure.add_subplot(1, len(groupings), place)
        style.plane(ax, name)
        if len(names) > NAMED:
            ax.scatter(*points.T, s=size, linewidths=0, c=group, cmap="hsv")
            ax.set_xlabel(f"{len(names):,} groups", fontsize=style.SMALL, color=style.INK)
            continue
        for index, label in enumerate(names):
            chosen = points[group == index]
            if not len(chosen):
                continue
            look = {"color": style.colour(index), "marker": style.marker(index), "label": style.short(label, 18)}
            ax.scatter(*chosen.T, s=size, linewidths=0, **look)
        ax.legend(
            fontsize=style.SMALL,
            frameon=False,
            markerscale=max(1, 4 / size**0.5),
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
        )
    return figure
