"""RMSprop: gradients divided by the root of their moving square."""

from __future__ import annotations

from typing import Any

import numpy as np

from .optimizer import Optimizer, check, counter, pieces, zeros


class RMSprop(Optimizer):
    """v = alpha·v + (1-alpha)·g²;  w -= lr · g / (√v + eps); centered takes the squared mean off v first."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        check(lr, weight_decay, epsilon=eps, momentum=momentum, alpha=alpha)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        momentum, centered = group["momentum"], group["centered"]
        if not state:
            state.update(step=counter(), square_avg=zeros(weight))
            if momentum > 0:
                state["momentum_buffer"] = zeros(weight)
            if centered:
                state["grad_avg"] = zeros(weight)
        count = state["step"]._array
        count += 1
        lr, alpha, eps, decay = group["lr"], group["alpha"], group["eps"], group["weight_decay"]
        average = state["grad_avg"]._array if centered else weight
        buffer = state["momentum_buffer"]._array if momentum > 0 else weight
        for w, g, v, mean, b in pieces(weight, grad, state["square_avg"]._array, average, buffer):
            room = self._room(w)
            if decay:
                g = np.add(np.multiply(w, decay, self._room(w, 1)), g, self._room(w, 1))
            np.multiply(g, g, room)
            room *= 1 - alpha
            v *= alpha
            v += room
            if centered:
                np.subtract(g, mean, room)
                room *= 1 - alpha
                mean += room
                np.multiply(mean, mean, room)
                np.subtract(v, room, room)
                np.sqrt(room, room)
            else:
                np.sqrt(v, room)
            room += eps
            np.divide(g, room, room)
            if momentum > 0:
                b *= momentum
                b += room
                np.multiply(b, lr, room)
            else:
                room *= lr
            w -= room
