"""Rprop: every weight has its own step size, and only the gradient's sign counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.tensor import Tensor

from .optimizer import Optimizer, check, counter, zeros


class Rprop(Optimizer):
    """A step size grows by etas[1] while the sign stays, and shrinks by etas[0], pausing once, when it changes."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        check(lr, 0)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        if not state:
            state.update(step=counter(), prev=zeros(weight))
            state["step_size"] = Tensor(np.full(weight.shape, float(group["lr"]), weight.dtype))
        before, size = state["prev"]._array, state["step_size"]._array
        state["step"]._array[...] += 1
        agreement = grad * before
        shrink, grow = group["etas"]
        size *= np.where(agreement > 0, grow, np.where(agreement < 0, shrink, 1)).astype(size.dtype)
        np.clip(size, *group["step_sizes"], out=size)
        grad = np.where(agreement < 0, 0, grad)
        weight -= np.sign(grad) * size
        before[...] = grad
