"""OneCycleLR: over one training the rate rises and falls once, and momentum falls and rises."""

from __future__ import annotations

import math

from mytorch.optim.optimizer import Optimizer

from .scheduler import LRScheduler, per_group


class OneCycleLR(LRScheduler):
    """Up from max_lr/div_factor to max_lr, then down to 1/final_div_factor of the start.

    Momentum goes the other way. To be stepped after every batch.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch), but got neither")
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0:
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.total_steps, self.cycle_momentum, self._anneal_func_type = (
            total_steps,
            cycle_momentum,
            anneal_strategy,
        )
        peak = float(pct_start * total_steps) - 1
        # (last step of the phase, rate at its start, at its end, momentum at its start, at its end)
        self._schedule_phases = [
            (peak, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
            (total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"),
        ]
        if three_phase:
            self._schedule_phases[1:] = [
                (
                    float(2 * pct_start * total_steps) - 2,
                    "max_lr",
                    "initial_lr",
                    "base_momentum",
                    "max_momentum",
                ),
                (total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        groups = optimizer.param_groups
        if last_epoch == -1:
            for group, top in zip(groups, per_group(max_lr, groups, "max_lr")):
                group["initial_lr"] = top / div_factor
                group["max_lr"], group["min_lr"] = top, group["initial_lr"] / final_div_factor
        if cycle_momentum:
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ValueError(
                    "optimizer must support momentum or beta1 with `cycle_momentum` option enabled: "
                    "give cycle_momentum=False"
                )
            self.use_beta1 = "betas" in optimizer.defaults
            highs = per_group(max_momentum, groups, "max_momentum")
            lows = per_group(base_momentum, groups, "base_momentum")
            if last_epoch == -1:
                for group, high, low in zip(groups, highs, lows):
                    self._set_momentum(group, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    def _set_momentum(self, group: dict, value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    def _between(self, start: float, end: float, part: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self) -> list[float]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        ends = [float(phase[0]) for phase in self._schedule_phases]
        place = next((at for at, end in enumerate(ends) if step <= end), len(ends) - 1)
        begin = ends[place - 1] if place else 0.0
        part = (step - begin) / (ends[place] - begin)
        _, lr_from, lr_to, momentum_from, momentum_to = self._schedule_phases[place]
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(self._between(group[lr_from], group[lr_to], part))
            if self.cycle_momentum:
                self._set_momentum(group, self._between(group[momentum_from], group[momentum_to], part))
        return lrs
