"""Adam and AdamW, with AMSGrad."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .optimizer import Optimizer, check, counter, for_pieces, zeros


def check_betas(betas: tuple[float, float]) -> None:
    for place, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {place}: {beta}")


class Adam(Optimizer):
    """m and v are moving averages of the gradient and its square; w -= lr · m̂ / (√v̂ + eps).

    Weight decay is added to the gradient (Adam) or taken off the weight itself (decoupled: AdamW).
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ):
        check(lr, weight_decay, epsilon=eps)
        check_betas(betas)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        if not state:
            state.update(step=counter(), exp_avg=zeros(weight), exp_avg_sq=zeros(weight))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros(weight)
        count = state["step"]._array
        count += 1
        (beta1, beta2), lr, decay = group["betas"], group["lr"], group["weight_decay"]
        decoupled, amsgrad = group["decoupled_weight_decay"], group["amsgrad"]
        # m̂ / (√v̂ + eps) with both corrections moved into two numbers.
        steps = float(count)
        root = math.sqrt(1 - beta2**steps)
        size, eps = lr / (1 - beta1**steps) * root, group["eps"] * root
        largest = state["max_exp_avg_sq"]._array if amsgrad else weight

        def update(w: np.ndarray, g: np.ndarray, m: np.ndarray, v: np.ndarray, top: np.ndarray) -> None:
            room = self._room(w)
            if decay and decoupled:
                w *= 1 - lr * decay
            elif decay:
                g = np.add(np.multiply(w, decay, self._room(w, 1)), g, self._room(w, 1))
            np.subtract(g, m, room)
            room *= 1 - beta1
            m += room
            np.multiply(g, g, room)
            room *= 1 - beta2
            v *= beta2
            v += room
            if amsgrad:
                np.maximum(top, v, out=top)
                v = top
            np.sqrt(v, room)
            room += eps
            np.divide(m, room, room)
            room *= size
            w -= room

        for_pieces(update, weight, grad, state["exp_avg"]._array, state["exp_avg_sq"]._array, largest)


class AdamW(Adam):
    """Adam whose weight decay shrinks the weights directly: w *= 1 - lr · weight_decay."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
