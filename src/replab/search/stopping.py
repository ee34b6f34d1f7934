"""When a trial is ended early. Fair to small rates, which start slowly."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from replab.records.trial import Trial


def fair_epochs(max_epochs: int) -> int:
    """What a trial gets before it can be pruned."""
    return max(5, max_epochs // 10)


@dataclass(frozen=True)
class Bars:
    """What a trial is measured against: the trials that were told before it was asked for."""

    medians: tuple[float, ...] = ()  # per epoch: the median of the best losses by then, of those that got as far
    least: float = math.inf
    rate: float = 0.0  # of the trial that has it

    def behind(self, losses: Sequence[float]) -> bool:
        """Whether a trial's best loss is above the median at the same epoch."""
        return len(losses) <= len(self.medians) and min(losses) > self.medians[len(losses) - 1]


NOTHING = Bars()


class Standings:
    """The bars after trial upon trial. Adding one costs its own epochs, however many there are."""

    def __init__(self, trials: Iterable[Trial] = ()):
        self.count, self.least = 0, (math.inf, 0.0)
        self.bests: list[list[float]] = []  # per epoch, sorted
        for trial in trials:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        reached = (math.inf if trial.value is None else trial.value, trial.params.get("lr", 0.0))
        self.least = min(self.least, reached) if self.count else reached
        self.count += 1
        for place, best in enumerate(accumulate(trial.losses, min)):
            if place == len(self.bests):
                self.bests.append([])
            insort(self.bests[place], best)

    def bars(self) -> Bars:
        return Bars(tuple(map(_middle, self.bests)), *self.least)


def _middle(values: Sequence[float]) -> float:
    """The median of sorted values."""
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def on_course(losses: list[float], least: float, epochs: int) -> bool:
    """Whether a trial, falling on like a + b / epoch as curves do, reaches the least loss by the last epoch.

    The pace at epoch t is then b / t², and b / t - b / epochs is still to come.
    """
    t = len(losses)
    pace = (losses[-4] - losses[-1]) / 3 if t > 3 else math.inf
    return losses[-1] - pace * t * (1 - t / epochs) <= least


class Pruning:
    """Ends a trial behind the median of the finished ones, unless its rate is smaller than the best and on course."""

    def __init__(self, bars: Bars, lr: float, epochs: int):
        self.bars, self.epochs, self.begins = bars, epochs, fair_epochs(epochs)
        self.small = lr < bars.rate

    def ends(self, losses: list[float]) -> bool:
        return (
            len(losses) >= self.begins
            and self.bars.behind(losses)
            and not (self.small and on_course(losses, self.bars.least, self.epochs))
        )
