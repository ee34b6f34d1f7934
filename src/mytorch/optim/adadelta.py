"""Adadelta: steps scaled by the ratio of two moving averages, of past steps and of gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from .optimizer import Optimizer, check, counter, pieces, zeros


class Adadelta(Optimizer):
    """v = rho·v + (1-rho)·g²;  delta = √(u+eps)/√(v+eps)·g;  u = rho·u + (1-rho)·delta²;  w -= lr·delta."""

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        check(lr, weight_decay, epsilon=eps)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        if not state:
            state.update(step=counter(), square_avg=zeros(weight), acc_delta=zeros(weight))
        count = state["step"]._array
        count += 1
        lr, rho, eps, decay = group["lr"], group["rho"], group["eps"], group["weight_decay"]
        for w, g, v, u in pieces(weight, grad, state["square_avg"]._array, state["acc_delta"]._array):
            room, delta = self._room(w), self._room(w, 1)
            if decay:
                g = np.add(np.multiply(w, decay, self._room(w, 2)), g, self._room(w, 2))
            np.multiply(g, g, room)
            room *= 1 - rho
            v *= rho
            v += room
            # delta = g · √((u + eps) / (v + eps))
            np.add(u, eps, delta)
            np.add(v, eps, room)
            delta /= room
            np.sqrt(delta, delta)
            delta *= g
            np.multiply(delta, delta, room)
            room *= 1 - rho
            u *= rho
            u += room
            delta *= lr
            w -= delta
