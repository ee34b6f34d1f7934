"""The mean over classes of the share of their images that are right: chance is 1 / classes, however many each has"""

from __future__ import annotations

import numpy as np

from replab.tasks.metrics import metric


@metric(form=".2%")
def balanced_accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    """Of the classes that have images."""
    there = np.bincount(labels)
    right = np.bincount(labels[logits.argmax(1) == labels], minlength=len(there))
    return float((right[there > 0] / there[there > 0]).mean())
