"""Grids of images: any images with captions, and the mistakes a classifier was surest of."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from replab.figures import style
from replab.figures.figure import figure

if TYPE_CHECKING:
    from replab.records.values import Values

LINE = 0.115  # inches a caption line takes
WIDTH = 22  # characters that fit under an image
MOST = 400  # images of a grid


@figure(place=60)
def gallery(values: Values) -> Figure | None:
    """The mistakes that a classifier was most confident of."""
    if values.answers is None or "mistake_pixels" not in values.arrays:
        return None
    answers, which = values.answers, values.arrays["mistake_index"]
    return draw_gallery(
        values.arrays["mistake_pixels"],
        answers.labels[which],
        answers.predicted[which],
        answers.confidence[which],
        values.classes,
        title=f"{values.title}: most confident mistakes\ntrue class → prediction (confidence)",
    )


def draw_gallery(
    pixels: np.ndarray,
    labels: np.ndarray,
    predicted: np.ndarray,
    confidence: np.ndarray,
    classes: Sequence[str],
    title: str = "",
    count: int = 32,
) -> Figure:
    """The `count` most confident mistakes among all these images; pixels are uint8 (N, C, H, W)."""
    labels, predicted, confidence = (
        np.asarray(labels),
        np.asarray(predicted),
        np.asarray(confidence, dtype=float),
    )
    wrong = np.flatnonzero(labels != predicted)
    if not len(wrong):
        return style.message(f"no mistakes among {len(labels):,} images" if len(labels) else "no mistakes", title)
    shown = wrong[np.argsort(-confidence[wrong], kind="stable")][:count]
    captions = [
        f"{style.short(classes[labels[i]], 19)} → {style.short(classes[predicted[i]], 19)} "
        f"({100 * confidence[i]:.0f}\N{NO-BREAK SPACE}%)"
        for i in shown
    ]
    if not title:
        which = f"the {len(shown)} surest" if len(shown) < len(wrong) else "surest first"
        title = f"{len(wrong):,} of {len(labels):,} wrong, {which}: true class → prediction"
    return grid(np.asarray(pixels)[shown], captions, title=title)


def grid(
    pixels: np.ndarray,
    captions: Sequence[str] | None = None,
    columns: int = 8,
    title: str = "",
    side: float = 1.15,
    gap: float = 0.04,
    framed: bool = False,
) -> Figure:
    """Images (N, C, H, W), uint8, one or three channels, row by row; `side` is their width in inches, `gap` between.

    `framed` draws a thin line around each: white pixels at an edge would run into the page.
    """
    images = np.asarray(pixels)[:MOST]
    captions = None if captions is None else list(captions)[:MOST]
    if images.ndim != 4 or images.shape[1] not in (1, 3) or images.dtype != np.uint8:
        raise ValueError(f"a grid shows uint8 images of shape (N, 1 or 3, H, W), but got {images.dtype} {images.shape}")
    count, _, height, width = images.shape
    if captions is not None and len(captions) != count:
        raise ValueError(f"one caption per image is needed: {count} images, but {len(captions)} captions")
    if not count:
        return style.message("no images", title)
    columns = min(columns, count)
    rows = -(-count // columns)
    wrapped = [textwrap.wrap(text.replace("_", " "), WIDTH, break_long_words=True) for text in captions or []]
    lines = max((len(text) for text in wrapped), default=0)
    gap = max(gap, 0.12) if captions else gap
    across, down = side + gap, side * height / width + lines * LINE + gap
    # A title needs some width even over a single image.
    named = title.splitlines()
    full_width = max(columns * across + gap, 0.085 * max(map(len, named), default=0))
    top = 0.15 + 0.2 * len(named) if named else 0.0
    full_height = rows * down + gap + top
    figure = Figure(figsize=(full_width, full_height), facecolor="white", dpi=style.DPI)
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))  # coordinates are inches, y down: no layout to compute
    ax.set_axis_off()
    left = (full_width - columns * across + gap) / 2
    for i, image in enumerate(images):
        row, column = divmod(i, columns)
        x, y = left + column * across, top + gap + row * down
        shown = image[0] if len(image) == 1 else image.transpose(1, 2, 0)  # (H, W) or (H, W, 3)
        below = y + side * height / width
        smooth = "nearest" if width < side * style.DPI else "antialiased"
        ax.imshow(shown, cmap="gray", vmin=0, vmax=255, extent=(x, x + side, below, y), interpolation=smooth)
        if framed:
            ax.add_patch(Rectangle((x, y), side, below - y, fill=False, edgecolor=style.GREY, linewidth=0.6))
        if wrapped:
            text = "\n".join(style.plain(line) for line in wrapped[i])
            ax.text(x + side / 2, below + 0.03, text, ha="center", va="top", fontsize=7, color=style.INK)
    ax.set(xlim=(0, full_width), ylim=(full_height, 0), aspect="auto")
    if title:
        middle = {"ha": "center", "va": "center", "fontweight": "bold"}
        ax.text(full_width / 2, top / 2 + 0.04, style.plain(title), fontsize=style.TITLE, color=style.INK, **middle)
    return figure
