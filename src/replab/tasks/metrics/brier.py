"""The squared distance of the probabilities from the one-hot label, summed over classes: 0 is best, 2 is worst"""

from __future__ import annotations

import numpy as np

from replab.records.values.answers import log_softmax
from replab.tasks.metrics import metric


def each(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(N,): of every image."""
    shares = np.exp(log_softmax(logits.astype(np.float64)))
    shares[np.arange(len(labels)), labels] -= 1
    return np.asarray((shares**2).sum(1))


def interval(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Of a mean over images."""
    found = each(logits, labels)
    half = 1.959964 * found.std() / np.sqrt(len(found))
    return max(0.0, float(found.mean() - half)), min(2.0, float(found.mean() + half))


@metric(label="Brier score", interval=interval)
def brier(logits: np.ndarray, labels: np.ndarray) -> float:
    return float(each(logits, labels).mean())
