"""The mean over classes of F1, the harmonic mean of precision and recall"""

from __future__ import annotations

import numpy as np

from replab.tasks.metrics import metric


@metric(label="macro F1")
def macro_f1(logits: np.ndarray, labels: np.ndarray) -> float:
    """Of the classes that have images or are answered; F1 = 2 · right / (images + answers)."""
    classes, answers = logits.shape[1], logits.argmax(1)
    right = np.bincount(labels[answers == labels], minlength=classes)
    both = np.bincount(labels, minlength=classes) + np.bincount(answers, minlength=classes)
    return float((2 * right[both > 0] / both[both > 0]).mean())
