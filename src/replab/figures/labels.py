"""Text beside points and line ends, moved so that no two labels lie on one another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from replab.figures.style import INK, SMALL, WORDS, plain

Box = tuple[float, float, float, float]  # left, bottom, right, top in points


def spread(positions: Sequence[float], gap: float, low: float = 0.0, high: float = 1.0) -> list[float]:
    """The positions, moved as little as needed to be `gap` apart and inside low..high, order kept."""
    count = len(positions)
    gap = min(gap, (high - low) / max(1, count - 1))
    order = np.argsort(positions, kind="stable")
    # Less i times the gap, "gap apart" reads "not falling": pool neighbours that fall into their mean.
    pools: list[tuple[float, int]] = []
    for i, index in enumerate(order):
        mean, size = positions[index] - i * gap, 1
        while pools and pools[-1][0] > mean:
            below, below_size = pools.pop()
            mean = (mean * size + below * below_size) / (size + below_size)
            size += below_size
        pools.append((mean, size))
    means = [mean for mean, size in pools for _ in range(size)]
    placed = np.clip(means, low, high - max(0, count - 1) * gap) + np.arange(count) * gap
    result = np.empty(count)
    result[order] = placed
    return [float(value) for value in result]


def at_line_ends(ax: Axes, ends: Sequence[tuple[float, str, str]], size: float = SMALL) -> None:
    """Write (y, text, colour) just outside the right edge, level with y, pushed apart where needed."""
    height = ax.figure.get_size_inches()[1] * 72 * ax.get_position().height  # type: ignore[union-attr]
    to_axes = ax.transData + ax.transAxes.inverted()
    middle = sum(ax.get_xlim()) / 2
    heights = [float(np.clip(to_axes.transform((middle, y))[1], 0, 1)) for y, _, _ in ends]
    for place, (_, text, colour) in zip(spread(heights, 1.35 * size / height), ends):
        ax.annotate(
            plain(text),
            (1, place),
            (5, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=size,
            color=WORDS.get(colour, colour),
            annotation_clip=False,
        )


def beside(
    ax: Axes,
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    size: float = SMALL,
    drop: bool = False,
    first: str = "right",
    radii: Sequence[float] | None = None,
    colours: Sequence[str] | None = None,
) -> None:
    """Write each text next to its point (data coordinates), on the first free side; first come, first served.

    `first` is the side tried first, `radii` how much room (points) each marker takes.
    Where no side is free the text is left out (`drop`) or goes where it covers least.
    """
    figure = ax.figure
    engine = figure.get_layout_engine()  # type: ignore[union-attr]
    if engine is not None:
        engine.execute(figure)  # the axes get their final place, so that points know where they are
    scale = 72 / figure.dpi
    where = [tuple(ax.transData.transform(point) * scale) for point in points]
    edge = ax.get_window_extent()
    frame = (edge.x0 * scale, edge.y0 * scale, edge.x1 * scale, edge.y1 * scale)
    room = radii or [4.0] * len(where)
    taken: list[Box] = [(x - r, y - r, x + r, y + r) for (x, y), r in zip(where, room)]
    for i, ((x, y), text) in enumerate(zip(where, texts)):
        width, height = 0.6 * size * len(text), 1.1 * size
        away, near = room[i] + 2, 0.6 * room[i] + 1
        beneath, left, far_left = -near - height, -near - width, -away - width
        sides = [
            (away, -height / 2),
            (far_left, -height / 2),
            (-width / 2, away),
            (-width / 2, -away - height),
        ]
        sides += [(near, near), (near, beneath), (left, near), (left, beneath)]
        if first == "upper left":
            sides = [sides[6], *sides]
        others = taken[:i] + taken[i + 1 :]
        boxes = [(x + dx, y + dy, x + dx + width, y + dy + height) for dx, dy in sides]
        costs = [sum(overlap(box, other) for other in others) + outside(box, frame) for box in boxes]
        best = int(np.argmin(costs))
        if (drop and costs[best] > 0) or not text:
            continue
        taken.append(boxes[best])
        ax.annotate(
            plain(text),
            points[i],
            (sides[best][0], sides[best][1] + height / 2),
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=size,
            color=WORDS.get(colours[i], colours[i]) if colours else INK,
            annotation_clip=False,
            zorder=6,
        )


def overlap(a: Box, b: Box) -> float:
    """The area two boxes share."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def outside(box: Box, frame: Box) -> float:
    """The area of a box that sticks out of the frame."""
    return (box[2] - box[0]) * (box[3] - box[1]) - overlap(box, frame)
