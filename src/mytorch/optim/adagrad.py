"""Adagrad: gradients divided by the root of the sum of all their squares so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.tensor import Tensor

from .optimizer import Optimizer, check, counter


class Adagrad(Optimizer):
    """s += g²;  w -= lr / (1 + (t-1)·lr_decay) · g / (√s + eps)."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        check(lr, weight_decay, epsilon=eps, lr_decay=lr_decay, initial_accumulator_value=initial_accumulator_value)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:  # as torch: before the first step
            for param in group["params"]:
                start = np.full(param._array.shape, initial_accumulator_value, param._array.dtype)
                self.state[param] = {"step": counter(), "sum": Tensor(start)}

    def share_memory(self) -> None:
        """Does nothing: there is only one process to share with."""

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        if not state:
            state.update(step=counter(), sum=Tensor(np.full_like(weight, group["initial_accumulator_value"])))
        count, total = state["step"]._array, state["sum"]._array
        count += 1
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * weight
        total += grad * grad
        rate = float(group["lr"]) / (1 + (float(count) - 1) * group["lr_decay"])
        weight -= rate * (grad / (np.sqrt(total) + group["eps"]))
