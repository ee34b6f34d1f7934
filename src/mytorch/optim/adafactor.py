"""Adafactor: of a matrix's squared gradients it keeps only the means of rows and columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .optimizer import Optimizer, check, counter, zeros


class Adafactor(Optimizer):
    """The second moment of a matrix is row means times column means; the step is relative to the weights' size."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ):
        check(lr, weight_decay)
        if beta2_decay > 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if d < 1:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        if not state:
            state["step"] = counter()
            if grad.ndim > 1:
                state.update(row_var=zeros(grad[..., :1]), col_var=zeros(grad[..., :1, :]))
            else:
                state["variance"] = zeros(weight)
        count = state["step"]._array
        count += 1
        t, rate = float(count), float(group["lr"])
        tiny, least = group["eps"]
        tiny = float(np.finfo(weight.dtype).eps) if tiny is None else tiny
        share = t ** group["beta2_decay"]
        size = max(least, float(np.linalg.norm(weight)) / math.sqrt(weight.size)) * min(rate, 1 / math.sqrt(t))
        if group["weight_decay"]:
            weight *= 1 - rate * group["weight_decay"]
        square = grad * grad
        if grad.ndim > 1:
            rows, columns = state["row_var"]._array, state["col_var"]._array
            rows += share * (square.mean(-1, keepdims=True) - rows)
            columns += share * (square.mean(-2, keepdims=True) - columns)
            estimate = rows @ columns / np.maximum(rows.mean(-2, keepdims=True), tiny)
        else:
            variance = state["variance"]._array
            variance += share * (square - variance)
            estimate = variance
        step = grad / np.sqrt(np.maximum(estimate, tiny * tiny))
        too_long = max(1.0, float(np.linalg.norm(step)) / (math.sqrt(step.size) * group["d"]))
        weight -= size / too_long * step
