"""SGD with momentum, dampening, Nesterov's variant and weight decay, with torch's meaning of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.tensor import Tensor

from .optimizer import Optimizer, check, pieces


class SGD(Optimizer):
    """grad += weight_decay · w;  buf = momentum · buf + (1 - dampening) · grad;  w -= lr · buf.

    The first buf is the gradient itself; with nesterov the step is along grad + momentum · buf.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        check(lr, weight_decay, momentum=momentum)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        lr, momentum, decay = group["lr"], group["momentum"], group["weight_decay"]
        if not momentum:
            for w, g in pieces(weight, grad):
                room = self._room(w)
                if decay:
                    np.multiply(w, decay, room)
                    room += g
                    room *= lr
                else:
                    np.multiply(g, lr, room)
                w -= room
            return
        buffer = state.get("momentum_buffer")
        first = buffer is None
        if buffer is None:
            buffer = state["momentum_buffer"] = Tensor(np.empty(weight.shape, weight.dtype))
        share = 1 - group["dampening"]
        for w, g, b in pieces(weight, grad, buffer._array):
            room = self._room(w)
            if decay:
                np.multiply(w, decay, room)
                g = np.add(room, g, room)
            if first:
                b[...] = g
            else:
                b *= momentum
                b += g if share == 1 else np.multiply(g, share, self._room(w, 1))
            if group["nesterov"]:
                step = np.multiply(b, momentum, self._room(w, 1))
                step += g
                step *= lr
            else:
                step = np.multiply(b, lr, room)
            w -= step
