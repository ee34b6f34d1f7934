"""Muon and its relative on the sphere: steps along the nearest orthogonal matrix instead of the gradient.

Keller Jordan's Muon, and the spectral descent of airbench94_spectral (github.com/KellerJordan/cifar10-airbench).
Weights of layers (two and more dimensions, the head apart) take such steps; biases, gains and the head take those of
SGD with Nesterov momentum, at the same rate unless --bias-rate-scale and --head-rate-scale give them others.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from replab.backends.as_is import as_is
from replab.settings.choices import optimizer

REST = 0.85  # momentum of what is not a layer's weight
COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the quintic: the steepest at 0 that keeps singular values near 1


def orthogonal(matrix: Tensor, steps: int) -> Tensor:
    """(R, C): the same singular vectors, singular values near 1, by Newton and Schulz's iteration."""
    a, b, c = COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)  # singular values of at most 1
    for _ in range(steps):
        square = x @ x.T
        x = torch.addmm(x, torch.addmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


class Orthogonal(torch.optim.Optimizer):
    """One momentum per parameter. `sphere`: a layer's weights are brought to a fixed norm before each step."""

    def __init__(self, params: Any, *, lr: float, weight_decay: float, momentum: float, steps: int, sphere: bool):
        self.steps, self.sphere = steps, sphere
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "matrix": True})
        for group in self.param_groups:
            group["momentum"] = momentum if group["matrix"] else REST

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        with torch.autocast(self.param_groups[0]["params"][0].device.type, enabled=False):
            self._step()

    def _step(self) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if group["matrix"] and p.ndim > 1:
                    self._turn(p, group)
                else:
                    update = self._nesterov(p, p.grad.add(p, alpha=group["weight_decay"]), group["momentum"])
                    p.sub_(update, alpha=group["lr"])

    def _turn(self, p: Tensor, group: dict[str, Any]) -> None:
        update = self._nesterov(p, p.grad, group["momentum"])
        rows = p.shape[0]
        step, lr = orthogonal(update.reshape(rows, -1), self.steps), group["lr"]
        if self.sphere:
            p.mul_(rows**0.5 / p.norm())
        else:
            p.mul_(1 - lr * group["weight_decay"])
            lr = lr * max(1.0, rows / step.shape[1]) ** 0.5
        p.sub_(step.reshape(p.shape), alpha=lr)

    def _nesterov(self, p: Tensor, gradient: Tensor | None, momentum: float) -> Tensor:
        assert gradient is not None
        state = self.state[p]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(p)
        buffer: Tensor = state["momentum_buffer"].mul_(momentum).add_(gradient)
        return gradient.add(buffer, alpha=momentum)


@optimizer(by_kind=True)
def muon(lib: Any, params: list[Any], *, lr: float, weight_decay: float, momentum: float, **options: Any) -> Any:
    """Orthogonal steps for weights of layers, Nesterov SGD for the rest; momentum 0.95 if none is given"""
    return _made(lib, params, lr=lr, weight_decay=weight_decay, momentum=momentum or 0.95, steps=5, sphere=False)


@optimizer(by_kind=True)
def spectral(lib: Any, params: list[Any], *, lr: float, weight_decay: float, momentum: float, **options: Any) -> Any:
    """Muon on weights of a fixed norm, for layers before a BatchNorm, as airbench94; momentum 0.6 if none is given"""
    return _made(lib, params, lr=lr, weight_decay=weight_decay, momentum=momentum or 0.6, steps=3, sphere=True)


def _made(lib: Any, params: list[Any], **how: Any) -> Any:
    if lib is not torch:
        raise AttributeError("it is written with torch")
    return as_is(Orthogonal)(params, **how)
