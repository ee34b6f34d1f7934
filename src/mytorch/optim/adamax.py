"""Adamax: Adam with the largest recent gradient in place of the root of the mean square."""

from __future__ import annotations

from typing import Any

import numpy as np

from .adam import check_betas
from .optimizer import Optimizer, check, counter, zeros


class Adamax(Optimizer):
    """m = β1·m + (1-β1)·g;  u = max(β2·u, |g| + eps);  w -= lr / (1 - β1ᵗ) · m / u."""

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ):
        check(lr, weight_decay, epsilon=eps)
        check_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        if not state:
            state.update(step=counter(), exp_avg=zeros(weight), exp_inf=zeros(weight))
        count, mean, largest = state["step"]._array, state["exp_avg"]._array, state["exp_inf"]._array
        count += 1
        beta1, beta2 = group["betas"]
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * weight
        mean += (1 - beta1) * (grad - mean)
        np.maximum(largest * beta2, np.abs(grad) + group["eps"], out=largest)
        weight -= float(group["lr"]) / (1 - beta1 ** float(count)) * (mean / largest)
