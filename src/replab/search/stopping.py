"""When a trial is ended early. Fair to small rates, which start slowly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

from replab.records.trial import Trial


def fair_epochs(max_epochs: int) -> int:
    """What a trial gets before it can be pruned."""
    return max(5, max_epochs // 10)


def behind_median(losses: list[float], others: Iterable[list[float]]) -> bool:
    """Whether a trial's best loss is above the median best of the others that got as far, at the same epoch."""
    bests = [min(other[: len(losses)]) for other in others if len(other) >= len(losses)]
    return bool(bests) and min(losses) > median(bests)


def on_course(losses: list[float], least: float, epochs: int) -> bool:
    """Whether a trial, falling on like a + b / epoch as curves do, reaches the least loss by the last epoch.

    The pace at epoch t is then b / t², and b / t - b / epochs is still to come.
    """
    t = len(losses)
    pace = (losses[-4] - losses[-1]) / 3 if t > 3 else math.inf
    return losses[-1] - pace * t * (1 - t / epochs) <= least


class Pruning:
    """Ends a trial behind the median of the finished ones, unless its rate is smaller than the best and on course."""

    def __init__(self, finished: Sequence[Trial], lr: float, epochs: int):
        self.finished, self.epochs, self.begins = finished, epochs, fair_epochs(epochs)
        self.least, best_rate = min(
            ((math.inf if t.value is None else t.value, t.params.get("lr", 0.0)) for t in finished),
            default=(math.inf, 0.0),
        )
        self.small = lr < best_rate

    def ends(self, losses: list[float]) -> bool:
        return (
            len(losses) >= self.begins
            and behind_median(losses, (t.losses for t in self.finished))
            and not (self.small and on_course(losses, self.least, self.epochs))
        )
