"""The area under the ROC curve, each class against the rest, averaged over classes: chance is 0.5"""

from __future__ import annotations

import math

import numpy as np

from replab.records.values.answers import log_softmax
from replab.tasks.metrics import metric


def placements(scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """(N,): of each image the share of the other side that it is ranked rightly against; a tie counts half."""
    order = np.sort(scores[positive]), np.sort(scores[~positive])

    def below(sides: np.ndarray, values: np.ndarray) -> np.ndarray:
        left, right = (np.searchsorted(sides, values, side) for side in ("left", "right"))
        return np.asarray((left + right) / 2 / len(sides))

    found = np.empty(len(scores))
    found[positive] = below(order[1], scores[positive])
    found[~positive] = 1 - below(order[0], scores[~positive])
    return found


def parts(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """(the area, its standard error): DeLong's, of a mean over classes on the same images."""
    shares = log_softmax(logits.astype(np.float64))
    areas, influence = [], np.zeros(len(labels))
    for k in range(logits.shape[1]):
        positive = labels == k
        if 0 < positive.sum() < len(labels):  # a class without images has no area
            found = placements(shares[:, k], positive)
            areas.append(found[positive].mean())
            influence += (found - areas[-1]) / np.where(positive, positive.sum(), (~positive).sum())
    if not areas:
        return math.nan, math.nan
    return float(np.mean(areas)), float(np.sqrt((influence**2).sum()) / len(areas))


def interval(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """On the scale of log odds, which keeps it below 1."""
    area, error = parts(logits, labels)
    if not 0 < area < 1:
        return area, area
    centre, half = math.log(area / (1 - area)), 1.959964 * error / (area * (1 - area))
    return 1 / (1 + math.exp(half - centre)), 1 / (1 + math.exp(-half - centre))


@metric(label="AUROC", interval=interval)
def auroc(logits: np.ndarray, labels: np.ndarray) -> float:
    return parts(logits, labels)[0]
