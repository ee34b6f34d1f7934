"""The reliability diagram: how often the model is right when it is that sure, and how often it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from replab.figures import style
from replab.figures.figure import figure
from replab.records.statistics import wilson

if TYPE_CHECKING:
    from replab.records.values import Values


@figure(place=40)
def calibration(values: Values) -> Figure | None:
    """How far a classifier's confidence can be trusted."""
    answers = values.answers
    return None if answers is None else draw_calibration(answers.confidence, answers.right, title=values.title)


def draw_calibration(
    confidence: np.ndarray | Sequence[float],
    correct: np.ndarray | Sequence[bool],
    bins: int = 15,
    title: str = "",
) -> Figure:
    """From each image's confidence in 0..1 and whether it was right. Whiskers: 95 % Wilson intervals."""
    confidence, correct = np.asarray(confidence, dtype=float), np.asarray(correct, dtype=bool)
    if confidence.shape != correct.shape or confidence.ndim != 1:
        raise ValueError(f"one confidence per answer is needed, but got shapes {confidence.shape} and {correct.shape}")
    if not len(confidence):
        return style.message("no predictions to calibrate", title)
    count, sure, right = reliability(confidence, correct, bins)
    error = float(np.sum(count * np.abs(right - sure)) / len(confidence))
    lean = confidence.mean() - correct.mean()
    verdict = "" if abs(lean) < 0.005 else ", too sure" if lean > 0 else ", not sure enough"
    figure = style.new(4.8, 5.6, "\n".join(filter(None, (title, f"ECE {100 * error:.2f} %{verdict}"))))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    width = 100 / bins
    middles = width * (np.arange(bins) + 0.5)
    full = count > 0
    style.dress(upper, "", "right (%)", grid="both")
    upper.plot([0, 100], [0, 100], color=style.GREY, linewidth=1, linestyle=(0, (4, 2)), label="perfect")
    upper.bar(middles[full], 100 * right[full], 0.92 * width, color=style.SKY, alpha=0.75, label="right")
    ends = np.array([wilson(round(n * share), int(n)) for n, share in zip(count[full], right[full])])  # (bins, 2)
    reach = 100 * np.abs(ends.T - right[full])
    upper.errorbar(100 * sure[full], 100 * right[full], reach, fmt="none", ecolor=style.BLUE, elinewidth=1.2)
    upper.plot(100 * sure[full], 100 * right[full], "o", color=style.BLUE, markersize=4, label="mean confidence")
    upper.set(xlim=(0, 101), ylim=(0, 102))
    above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "frameon": False, "fontsize": style.SMALL}
    upper.legend(ncols=3, **above)  # over the axes: bars may be anywhere inside
    style.dress(lower, f"confidence (%), n = {len(confidence):,}", "images (%)")
    lower.bar(middles, 100 * count / len(confidence), 0.92 * width, color=style.GREY)
    for value, name, colour in (
        (confidence.mean(), "mean confidence", style.BLUE),
        (correct.mean(), "accuracy", style.RED),
    ):
        lower.axvline(100 * value, color=colour, linewidth=1.4, label=f"{name} {100 * value:.1f} %")
    lower.legend(ncols=2, **above)
    return figure


def reliability(confidence: np.ndarray, correct: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equal-width bins [low, high): each one's count, mean confidence and share of right answers."""
    place = np.clip((confidence * bins).astype(int), 0, bins - 1)
    count = np.bincount(place, minlength=bins)
    some = np.maximum(count, 1)
    return count, np.bincount(place, confidence, bins) / some, np.bincount(place, correct, bins) / some
