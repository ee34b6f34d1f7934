"""LRScheduler: what all schedules share."""

from __future__ import annotations

from typing import Any

from mytorch.optim.optimizer import Optimizer
from mytorch.tensor import Tensor


class LRScheduler:
    """`step()` counts one epoch and sets every group's rate to what `get_lr()` returns."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler "
                    "with last_epoch >= 0: load the optimizer's state first"
                )
        self.base_lrs = [_copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._first_step()

    def _first_step(self) -> None:
        self._is_initial = True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[float]:
        raise NotImplementedError(f"{type(self).__name__} defines no get_lr()")

    def get_last_lr(self) -> list[float]:
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Moves on by one epoch, or (in older scripts) to a given one, whose rate is computed from the initial rate."""
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            self._set(self.get_lr())
        else:
            self.last_epoch = epoch
            self._set(self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr())

    def _set(self, rates: list[float]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates):
            if isinstance(group["lr"], Tensor):  # a rate that is a tensor stays that tensor
                group["lr"].fill_(float(lr))
            else:
                group["lr"] = lr
        self._last_lr = self._current()

    def _current(self) -> list[float]:
        return [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        hidden = ("optimizer", "_is_initial")
        return {name: value for name, value in vars(self).items() if name not in hidden}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        vars(self).update(state_dict)


def _copied(rate: Any) -> Any:
    """A rate that is a tensor is changed in place, so what is remembered of it is a copy."""
    return rate.clone() if isinstance(rate, Tensor) else rate


def per_group(value: Any, groups: list[dict], name: str) -> list:
    if not isinstance(value, list | tuple):
        return [value] * len(groups)
    if len(value) != len(groups):
        raise ValueError(f"expected {len(groups)} values for {name}, got {len(value)}")
    return list(value)
