"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from mytorch.optim.optimizer import Optimizer

from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler


class _Combined(LRScheduler):
    _schedulers: list[Any]

    def state_dict(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if name not in ("optimizer", "_schedulers")}
        return own | {"_schedulers": [each.state_dict() for each in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        vars(self).update({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for each, state in zip(self._schedulers, state_dict["_schedulers"]):
            each.load_state_dict(state)

    def _check(self, optimizer: Optimizer) -> None:
        if not self._schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler")
        for place, each in enumerate(self._schedulers):
            if each.optimizer is not optimizer:
                raise ValueError(f"{type(self).__name__} expects one optimizer, but scheduler {place} has another")


class SequentialLR(_Combined):
    """One schedule after the other, changing at the milestones; each begins with its own epoch 0."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        self._schedulers, self._milestones = list(schedulers), list(milestones)
        self.optimizer = optimizer
        self._check(optimizer)
        if len(self._milestones) != len(self._schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got {len(self._schedulers)} and {len(self._milestones)}"
            )
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:  # the rates the schedules have set when they were made are undone
            group["lr"] = group["initial_lr"]
        for each in self._schedulers:
            each.last_epoch -= 1
        self._schedulers[0]._first_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self, epoch: Any = None) -> None:
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        chosen = self._schedulers[place]
        if place > 0 and self._milestones[place - 1] == self.last_epoch:
            chosen.step(0)
        else:
            chosen.step()
        self._last_lr = chosen.get_last_lr()


class ChainedScheduler(_Combined):
    """All schedules act at every step, each on the rate that the one before it has set."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None):
        self._schedulers = list(schedulers)
        if not self._schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained")
        self.optimizer = optimizer or self._schedulers[0].optimizer
        self._check(self.optimizer)
        if any(isinstance(each, ReduceLROnPlateau) for each in self._schedulers):
            raise ValueError("ChainedScheduler does not take ReduceLROnPlateau: it needs a metric at every step")
        self._last_lr = self._current()

    def step(self, epoch: Any = None) -> None:
        for each in self._schedulers:
            each.step()
        self._last_lr = self._current()
