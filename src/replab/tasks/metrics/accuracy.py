"""The share of images whose largest logit is that of their class."""

from __future__ import annotations

import numpy as np

from replab.tasks.metrics import metric


@metric(always=True, label="test accuracy", form=".2%")
def accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    return float((logits.argmax(1) == labels).mean())
