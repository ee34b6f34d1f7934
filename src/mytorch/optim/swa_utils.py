"""torch.optim.swa_utils: averages of a model's weights, with their learning rate and batch-norm statistics."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mytorch.autograd import no_grad
from mytorch.nn.modules.module import Module
from mytorch.nn.modules.normalization import _BatchNorm
from mytorch.tensor import Tensor

from .lr_scheduler.scheduler import LRScheduler, per_group
from .optimizer import Optimizer


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """average = decay · average + (1 - decay) · weights"""

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """The plain mean of all weights so far."""

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    return _many(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable:
    return _many(get_swa_avg_fn())


def _many(one: Callable) -> Callable:
    def update(averaged: Iterable[Tensor], current: Iterable[Tensor], num_averaged: Any) -> None:
        for average, new in zip(averaged, current):
            average.copy_(one(average, new, num_averaged))

    return update


class AveragedModel(Module):
    """A copy of a model that holds the average of its weights; update_parameters(model) adds the current ones."""

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable | None = None,
        multi_avg_fn: Callable | None = None,
        use_buffers: bool = False,
    ):
        super().__init__()
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", Tensor(np.array(0, np.int64)))
        self._update = multi_avg_fn or _many(avg_fn or get_swa_avg_fn())
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        ours: list[Tensor] = [*self.module.parameters(), *(self.module.buffers() if self.use_buffers else ())]
        theirs: list[Tensor] = [*model.parameters(), *(model.buffers() if self.use_buffers else ())]
        if self.n_averaged.item() == 0:
            for average, new in zip(ours, theirs):
                average.copy_(new)
        else:
            self._update([o.detach() for o in ours], [t.detach() for t in theirs], self.n_averaged.item())
        if not self.use_buffers:  # they are not averaged, but kept up to date
            for average, buffer in zip(self.module.buffers(), model.buffers()):
                average.copy_(buffer)
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the statistics of all batch norms again, in one pass over the data."""
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # None: the mean over all batches
    model.train()
    for batch in loader:
        model(batch[0] if isinstance(batch, (list, tuple)) else batch)
    for norm, momentum in zip(norms, momenta):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the current rate to swa_lr in anneal_epochs, along a cosine or a straight line, and constant after that."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ):
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must by one of 'cos' or 'linear', instead got {anneal_strategy}")
        for group, rate in zip(optimizer.param_groups, per_group(swa_lr, optimizer.param_groups, "swa_lr")):
            group["swa_lr"] = rate
        self.anneal_epochs, self._strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _part(self, epoch: int) -> float:
        t = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._strategy == "cos" else t

    def get_lr(self) -> list[float]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
