"""NAdam and RAdam: Adam that looks ahead, and Adam that waits until its second moment can be trusted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mytorch.tensor import Tensor

from .adam import check_betas
from .optimizer import Optimizer, check, counter, zeros


def _moments(weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> tuple[np.ndarray, float]:
    """Counts the step, applies weight decay, updates both averages; returns the gradient and the step's number."""
    count, mean, square = state["step"]._array, state["exp_avg"]._array, state["exp_avg_sq"]._array
    count += 1
    beta1, beta2 = group["betas"]
    if group["weight_decay"] and group["decoupled_weight_decay"]:
        weight *= 1 - float(group["lr"]) * group["weight_decay"]
    elif group["weight_decay"]:
        grad = grad + group["weight_decay"] * weight
    mean += (1 - beta1) * (grad - mean)
    square *= beta2
    square += (1 - beta2) * grad * grad
    return grad, float(count)


class NAdam(Optimizer):
    """Steps along a prediction of the next average gradient; momentum rises by a schedule."""

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        check(lr, weight_decay, epsilon=eps, momentum_decay=momentum_decay)
        check_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        if not state:
            state.update(step=counter(), mu_product=Tensor(np.ones((), np.float32)))
            state.update(exp_avg=zeros(weight), exp_avg_sq=zeros(weight))
        grad, t = _moments(weight, grad, state, group)
        beta1, beta2 = group["betas"]
        mu, mu_next = (beta1 * (1 - 0.5 * 0.96 ** (n * group["momentum_decay"])) for n in (t, t + 1))
        product = state["mu_product"]._array
        product *= mu
        so_far, rate = float(product), float(group["lr"])
        root = np.sqrt(state["exp_avg_sq"]._array / (1 - beta2**t)) + group["eps"]
        weight -= rate * (1 - mu) / (1 - so_far) * (grad / root)
        weight -= rate * mu_next / (1 - so_far * mu_next) * (state["exp_avg"]._array / root)


class RAdam(Optimizer):
    """Plain momentum at first; once the variance of the second moment is known, Adam's step times a rectification."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        check(lr, weight_decay, epsilon=eps)
        check_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        if not state:
            state.update(step=counter(), exp_avg=zeros(weight), exp_avg_sq=zeros(weight))
        grad, t = _moments(weight, grad, state, group)
        beta1, beta2 = group["betas"]
        step = float(group["lr"]) * state["exp_avg"]._array / (1 - beta1**t)
        # the length of a simple average that the moving one is worth, at most and by now
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * t * beta2**t / (1 - beta2**t)
        if length > 5:
            top = (length - 4) * (length - 2) * longest
            rectified = math.sqrt(top / ((longest - 4) * (longest - 2) * length))
            step *= rectified * math.sqrt(1 - beta2**t) / (np.sqrt(state["exp_avg_sq"]._array) + group["eps"])
        weight -= step
