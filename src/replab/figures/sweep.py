"""One parameter at several values: a strip of samples per value, and the curves of every value in each panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from replab.figures import style
from replab.figures.curves import panel
from replab.figures.samples import tiled

PANELS = ("train_loss", "train_mse", "train_kl", "train_critic_loss", "train_generator_loss", "test_accuracy")


def sweep(
    runs: Mapping[str, Sequence[Mapping[str, object]]], samples: Mapping[str, np.ndarray], title: str = ""
) -> Figure:
    """`runs`: value → rows of epochs; `samples`: value → uint8 (N, C, H, W), none for models that make none."""
    there = [m for m in PANELS if any(m in row for rows in runs.values() for row in rows)][:4]
    strips, height = len(samples), 1.5
    figure = style.new(3.6 * max(len(there), 2), strips * height + 3.2, title)
    layout = figure.add_gridspec(strips + 1, max(len(there), 1), height_ratios=[height] * strips + [3.0])
    for row, (name, pixels) in enumerate(samples.items()):
        ax = figure.add_subplot(layout[row, :])
        ax.imshow(np.asarray(tiled(pixels[:32], columns=16)))
        ax.set_title(style.plain(name), fontsize=style.LABEL, loc="left", color=style.INK)
        ax.set_axis_off()
    for column, metric in enumerate(there):
        ax = figure.add_subplot(layout[strips, column])
        lines = [(name, rows, metric, style.colour(i), style.dash(i)) for i, (name, rows) in enumerate(runs.items())]
        panel(ax, metric.partition("_")[2].replace("_", " "), lines)
    return figure
