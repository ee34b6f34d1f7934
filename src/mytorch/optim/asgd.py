"""ASGD: stochastic gradient descent with a falling rate, and the average of the weights beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.tensor import Tensor

from .optimizer import Optimizer, check, counter, zeros


class ASGD(Optimizer):
    """w = (1 - lambd·η)·w - η·g with η = lr / (1 + lambd·lr·t)^alpha; after t0 steps `ax` averages the weights."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ):
        check(lr, weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        rate = float(group["lr"])
        if not state:
            state.update(step=counter(), eta=Tensor(np.asarray(rate, np.float32)))
            state.update(mu=Tensor(np.ones((), np.float32)), ax=zeros(weight))
        count, eta, mu, average = (state[name]._array for name in ("step", "eta", "mu", "ax"))
        count += 1
        t = float(count)
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * weight
        weight *= 1 - group["lambd"] * float(eta)
        weight -= float(eta) * grad
        average += (weight - average) * float(mu)
        # float32, as torch keeps them, also in a state that was loaded into another type
        eta[...] = np.float32(rate / (1 + group["lambd"] * rate * t) ** group["alpha"])
        mu[...] = np.float32(1 / max(1, t - group["t0"]))
