"""SparseAdam: Adam that does not change rows without a gradient, for large embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from .optimizer import Optimizer, check, zeros


class SparseAdam(Optimizer):
    """Adam's update of the touched rows alone: where a row's gradient is all 0, its averages do not decay either.

    Gradients are dense in mytorch, so a touched row is one whose gradient is not 0.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ):
        if not lr > 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        check(lr, 0, epsilon=eps)
        for number, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {number}: {beta}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        if not state:
            state.update(step=0, exp_avg=zeros(weight), exp_avg_sq=zeros(weight))
        state["step"] += 1
        beta1, beta2 = group["betas"]
        rows = grad.reshape(len(grad), -1).any(1)
        average, squares = state["exp_avg"]._array, state["exp_avg_sq"]._array
        average[rows] += (1 - beta1) * (grad[rows] - average[rows])
        squares[rows] += (1 - beta2) * (grad[rows] ** 2 - squares[rows])
        corrections = np.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        step = float(group["lr"]) * corrections
        weight[rows] -= (step * average[rows] / (np.sqrt(squares[rows]) + group["eps"])).astype(weight.dtype)
