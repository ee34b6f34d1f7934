"""The share of images whose class is among the five largest logits"""

from __future__ import annotations

import numpy as np

from replab.records.statistics import wilson
from replab.tasks.metrics import metric


def interval(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    return wilson(round(top_5(logits, labels) * len(labels)), len(labels))


@metric(label="top-5 accuracy", form=".2%", interval=interval, classes=6)
def top_5(logits: np.ndarray, labels: np.ndarray) -> float:
    own = np.take_along_axis(logits, labels[:, None], 1)
    return float(((logits > own).sum(1) < 5).mean())
