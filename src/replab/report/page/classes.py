"""What a classifier answered, as plain values for the page: confusion matrix, images behind it, accuracy by class."""

from __future__ import annotations

from typing import Any

import numpy as np

from replab.records.statistics import wilson
from replab.records.values import Values
from replab.records.values.answers import Answers, confusions
from replab.report.page.pictures import explained, sprite

MATRIX = 40  # classes of the matrix: of more, the most confused ones
TABLE = 1000  # classes of the table: of more, the least accurate ones


def confusion(values: Values, answers: Answers) -> dict[str, Any]:
    """Rows of cells (true class, answer, count, share of the row), for the classes that are confused most."""
    from replab.figures.confusion import most_confused

    names = values.classes
    true, answer, counts = confusions(answers.labels, answers.predicted, len(names))
    shown = np.arange(len(names)) if len(names) <= MATRIX else most_confused(true, answer, counts, MATRIX)
    totals = np.bincount(answers.labels, minlength=len(names))
    count_of = {(int(t), int(a)): int(n) for t, a, n in zip(true, answer, counts)}
    rows = []
    for t in map(int, shown):
        cells = [{"answer": int(a), "count": count_of.get((t, int(a)), 0)} for a in shown]
        for cell in cells:
            cell["shade"] = round(100 * cell["count"] / max(1, int(totals[t])))
        rows.append({"true": t, "total": int(totals[t]), "cells": cells})
    return {"classes": [int(i) for i in shown], "rows": rows, "all": len(names)}


def examples(values: Values, answers: Answers) -> dict[str, Any] | None:
    """The kept test images: (number, true class, answer, confidence) each, a sprite of them, and maps of a few."""
    kept = values.examples
    if kept is not None:
        index, pixels = kept.index, kept.pixels
    elif "mistake_pixels" in values.arrays:  # runs of earlier versions kept mistakes only
        index, pixels = values.arrays["mistake_index"], values.arrays["mistake_pixels"]
    else:
        return None
    if not len(index):
        return None
    items = [
        (int(i), int(answers.labels[i]), int(answers.predicted[i]), round(float(answers.confidence[i]), 5))
        for i in index
    ]
    small = None
    if kept is not None and len(kept.maps):
        at = {str(int(number)): place for place, number in enumerate(kept.map_index)}
        small = {**sprite(kept.maps[:, None]), "name": kept.map_name, "at": at}
    return {"images": sprite(pixels), "items": items, "maps": explained(values), "small": small}


def table(values: Values, answers: Answers) -> list[dict[str, Any]]:
    """Accuracy of each class with its interval, and what it is most often taken for."""
    names = values.classes
    count = np.bincount(answers.labels, minlength=len(names))
    right = np.bincount(answers.labels[answers.right], minlength=len(names))
    share = right / np.maximum(count, 1)
    shown = np.arange(len(names)) if len(names) <= TABLE else np.argsort(share, kind="stable")[:TABLE]
    true, answer, counts = confusions(answers.labels, answers.predicted, len(names))
    worst: dict[int, tuple[int, int]] = {}
    for t, a, n in zip(true, answer, counts):
        if t != a and n > worst.get(int(t), (0, 0))[0]:
            worst[int(t)] = (int(n), int(a))
    rows = []
    for i in map(int, shown):
        low, high = wilson(int(right[i]), int(count[i]))
        often, taken = worst.get(i, (0, 0))
        rows.append(
            {"name": names[i], "count": int(count[i]), "accuracy": float(share[i]), "low": low, "high": high,
             "taken": names[taken] if often else "–", "often": often}
        )  # fmt: skip
    return rows
