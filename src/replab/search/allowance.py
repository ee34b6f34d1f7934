"""What a budget pays for, counted in epochs at the cost that was measured before the start.

So it is not the clock that decides how many trials and epochs there are: a busy machine, several workers and an
interruption change the time and leave the numbers. The report says what was cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from replab.records.trial import Trial
from replab.search.choice import best

FEWEST = 3  # epochs that are worth another trial


@dataclass(frozen=True)
class Allowance:
    seconds: float = inf  # for search and training together
    epoch_seconds: float = 0.0  # of the training
    trial_epoch_seconds: float = 0.0
    training_epochs: int | None = None  # None: as many as the best trial needs

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def left(self, trials: Sequence[Trial]) -> float:
        """Seconds after these trials."""
        return self.seconds - self.trial_epoch_seconds * sum(max(1, len(t.losses)) for t in trials)

    def next_trial(self, told: Sequence[Trial], open_: Sequence[int], room: int) -> int | None:
        """The most epochs that the next trial may take; None means no limit, 0 that the budget does not pay for it.

        `room`: trials that can be asked for at this moment, which share what is left. `open_`: the most epochs of each
        trial that was asked for and has not been told.
        """
        if self.seconds == inf:
            return None
        left = self.left(told) - self.trial_epoch_seconds * sum(open_)
        complete = [t for t in told if t.state == "complete"]
        needed = self.training_epochs or (best(complete).best_epoch if complete else 1)
        spare = left - needed * self.epoch_seconds  # what trials may take; one that trains for longer takes more
        each = max(self.trial_epoch_seconds, 1e-9)
        trials = min(room, int(spare / each))
        if trials < 1:
            return 0 if told or open_ else 1  # one is tried at least
        epochs = int(spare / (trials * each))
        if not self.training_epochs and epochs > needed:  # the training may then take as many as the longest of them
            longer = int(left / (trials * each + self.epoch_seconds))
            epochs = max(needed, longer)
        if complete and epochs < FEWEST:
            return 0
        return max(1, epochs)

    def affordable(self, trials: Sequence[Trial], wanted: int) -> int:
        """Epochs of the training: those wanted, or as many as there is time for, and at least one."""
        if self.seconds == inf or wanted * self.epoch_seconds <= self.left(trials):
            return wanted
        return max(1, int(self.left(trials) / max(self.epoch_seconds, 1e-9)))
