"""Expected calibration error: |confidence - accuracy|, averaged over equal-width bins of confidence (1706.04599)."""

from __future__ import annotations

import numpy as np

from replab.records.values.answers import surety
from replab.tasks.metrics import metric


@metric(always=True, label="calibration error", form=".2%")
def ece(logits: np.ndarray, labels: np.ndarray, bins: int = 15) -> float:
    confidence = np.exp(surety(logits))
    correct = logits.argmax(1) == labels
    which = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = np.abs(np.bincount(which, confidence - correct, minlength=bins))
    return float(gaps.sum() / len(labels))
