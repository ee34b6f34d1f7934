"""The confusion matrix: counts and row percentages; of many classes, those that are confused most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from replab.figures import style
from replab.figures.figure import figure
from replab.records.values.answers import confusion_matrix, confusions

if TYPE_CHECKING:
    from replab.records.values import Values

NUMBERED = 20  # up to this many classes the cells carry numbers
SHADES = LinearSegmentedColormap.from_list("white to blue", ["#FFFFFF", "#9CCBE6", style.BLUE, "#003B5C"])
MOST = 40  # classes of a matrix: of more, the most confused ones are shown


@figure(place=30)
def confusion(values: Values) -> Figure | None:
    """Which classes a classifier takes for which."""
    answers, classes = values.answers, values.classes
    if answers is None:
        return None
    if len(classes) <= MOST:
        counts = confusion_matrix(answers.labels, answers.predicted, len(classes))
        return draw_confusion(counts, classes, headline(counts, values.title))
    return draw_most_confused(answers.labels, answers.predicted, classes, values.title)


def draw_most_confused(
    labels: np.ndarray, predicted: np.ndarray, classes: Sequence[str], name: str = "Confusion"
) -> Figure:
    """The matrix of the MOST classes with the most frequent confusions; shares are of all images of a class."""
    true, answer, counts = confusions(labels, predicted, len(classes))
    totals = np.bincount(labels, minlength=len(classes))
    shown = most_confused(true, answer, counts)
    place = np.full(len(classes), -1)
    place[shown] = np.arange(len(shown))
    inside = (place[true] >= 0) & (place[answer] >= 0)
    matrix = np.zeros((len(shown), len(shown)), np.int64)
    matrix[place[true[inside]], place[answer[inside]]] = counts[inside]
    right, wrong = int((labels == predicted).sum()), true != answer
    title = (
        f"{name}: {right:,} of {len(labels):,} right ({100 * right / max(1, len(labels)):.2f} %)\n"
        f"{len(shown)} of {len(classes):,} classes: those confused most"
        f" ({counts[wrong & inside].sum():,} of {counts[wrong].sum():,} mistakes)"
    )
    return draw_confusion(matrix, [classes[i] for i in shown], title, totals[shown])


def most_confused(true: np.ndarray, answer: np.ndarray, counts: np.ndarray, most: int = MOST) -> np.ndarray:
    """The classes of the most frequent wrong pairs, at most `most`; the first classes where all is right."""
    wrong = np.flatnonzero(true != answer)
    order = wrong[np.argsort(-counts[wrong], kind="stable")]
    pairs = np.stack([true[order], answer[order]], 1).ravel()
    _, first = np.unique(pairs, return_index=True)
    chosen = pairs[np.sort(first)[:most]]
    if len(chosen) < 2:
        chosen = np.unique(true)[:most]
    return np.sort(chosen)


def draw_confusion(
    matrix: np.ndarray | Sequence[Sequence[int]],
    classes: Sequence[str],
    title: str = "",
    totals: np.ndarray | None = None,
) -> Figure:
    """Rows are the true classes, columns the predicted ones; colour is the share of the row.

    `totals` are the images of each true class, where the matrix does not hold them all.
    """
    counts = np.asarray(matrix)
    size = len(classes)
    if counts.shape != (size, size):
        raise ValueError(f"a confusion matrix of {size} classes is {size}x{size}, but this one is {counts.shape}")
    images = counts.sum(axis=1) if totals is None else totals
    share = 100 * counts / np.maximum(images, 1)[:, None]  # a class without images: a row of zeros
    many = size > NUMBERED
    cell = max(0.54, 3.0 / size) if not many else max(0.105, 7.5 / size)
    figure = style.new(2.4 + cell * size, 1.7 + cell * size, title or headline(counts))
    ax = figure.add_subplot()
    # The root brings out the few per cent beside the diagonal, which is what one looks for.
    drawn = ax.imshow(share, cmap=SHADES, norm=PowerNorm(0.5, 0, 100), aspect="equal", interpolation="nearest")
    style.dress(ax, "predicted", "true", grid="")
    names = [style.plain(style.short(name, 18)) for name in classes]
    font = min(style.LABEL, 55 * cell) if many else style.LABEL
    upright = not many and max(map(len, names)) <= 7
    ax.set_xticks(range(size), names, rotation=0 if upright else 90 if many else 45, fontsize=font)
    if not upright and not many:
        for label in ax.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    ax.set_yticks(range(size), names, fontsize=font)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if not many:
        write_numbers(ax, counts, share, cell)
        ax.set_xticks(np.arange(size + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(size + 1) - 0.5, minor=True)
        ax.grid(which="minor", color=style.FAINT, linewidth=0.6)
        ax.tick_params(which="minor", length=0)
    else:
        ax.set_xlabel(f"predicted\n\n{worst(share, classes)}", fontsize=style.LABEL, color=style.INK)
    bar = figure.colorbar(drawn, ax=ax, shrink=0.6, aspect=25, ticks=[0, 1, 5, 20, 50, 100])
    bar.set_label("% of the true class", fontsize=style.SMALL, color=style.INK)
    bar.ax.tick_params(labelsize=style.SMALL, length=0)
    bar.outline.set_visible(False)  # type: ignore[operator]
    return figure


def headline(counts: np.ndarray, name: str = "Confusion") -> str:
    right, total = int(np.trace(counts)), int(counts.sum())
    if not total:
        return f"{name}: no images"
    return f"{name}: {right:,} of {total:,} right ({100 * right / total:.2f} %)"


def write_numbers(ax: Axes, counts: np.ndarray, share: np.ndarray, cell: float) -> None:
    """The count, below it the percentage of the row; an empty cell stays empty."""
    up, down = 0.07 / cell, 0.12 / cell  # inches apart, whatever the size of a cell
    # Inside the axes, so the layout need not measure hundreds of them.
    look = {"ha": "center", "va": "center", "in_layout": False}
    for (row, column), count in np.ndenumerate(counts):
        if not count:
            continue
        percent = share[row, column]
        colour = "white" if percent > 30 else style.INK
        ax.text(column, row - up, f"{int(count):,}", fontsize=8.5, color=colour, **look)
        text = "100 %" if percent == 100 else f"{percent:.1f} %"
        ax.text(column, row + down, text, fontsize=6, color=colour, **look)


def worst(share: np.ndarray, classes: Sequence[str], count: int = 6) -> str:
    """The pairs confused most, in words."""
    wrong = share.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:count]
    pairs = [divmod(int(place), len(classes)) for place in order]
    words = [
        f"{style.plain(style.short(classes[row], 24))} → {style.plain(style.short(classes[column], 24))}"
        f" {wrong[row, column]:.0f} %"
        for row, column in pairs
        if wrong[row, column] > 0
    ]
    if not words:
        return "no mistakes"
    return "most confused: " + ",  ".join(words[:3]) + (",\n" + ",  ".join(words[3:]) if words[3:] else "")
