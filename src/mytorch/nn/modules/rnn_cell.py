"""One step of a recurrent network (RNNCell, GRUCell, LSTMCell), and an LSTM with a projection, step by step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mytorch.creation import empty
from mytorch.nn import functional as F
from mytorch.nn import init
from mytorch.nn.parameter import Parameter
from mytorch.ops.pointwise import where
from mytorch.ops.shape import stack
from mytorch.tensor import Tensor

from .module import Module

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


def lstm_step(x: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any) -> tuple:
    i, f, u, o = (F.linear(x, w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * u.tanh()
    return o.sigmoid() * c.tanh(), c


def projected_lstm(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Any,
    b_hh: Any,
    w_hr: Tensor,
    reverse: bool,
    valid: np.ndarray | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """An LSTM layer whose hidden state is multiplied by w_hr (P, H) after every step; arguments as in lstm_layer."""
    outputs: list[Any] = [None] * len(x)
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        new_h, new_c = lstm_step(x[t], h, c, w_ih, w_hh, b_ih, b_hh)
        new_h = F.linear(new_h, w_hr)
        if valid is not None:
            here = Tensor(valid[t])
            new_h, new_c = where(here, new_h, h), where(here, new_c, c)
        h, c = new_h, new_c
        outputs[t] = h
    return stack(outputs), h, c


class RNNCellBase(Module):
    """input (N, I) or (I) and the state (N, H) or (H) -> the next state."""

    gates: int

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self.gates * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), dtype=dtype))
        self.register_parameter("bias_ih", Parameter(empty((rows,), dtype=dtype)) if bias else None)
        self.register_parameter("bias_hh", Parameter(empty((rows,), dtype=dtype)) if bias else None)
        bound = 1 / math.sqrt(hidden_size) if hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _checked(self, input: Tensor, *states: Tensor | None) -> list[Tensor]:
        """The states, or zeros for those that are not given."""
        if input._array.ndim not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected input to be 1D or 2D, got {input._array.ndim}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[-1]} expected {self.input_size}")
        shape = (*input.shape[:-1], self.hidden_size)
        for state in states:
            if state is not None and state._array.ndim not in (1, 2):
                rank = state._array.ndim
                raise ValueError(f"{self._get_name()}: Expected hidden to be 1D or 2D, got {rank}D instead")
            if state is not None and tuple(state.shape) != shape:
                raise RuntimeError(f"hidden has inconsistent shape: got {tuple(state.shape)} expected {shape}")
        return [Tensor(np.zeros(shape, input._array.dtype)) if state is None else state for state in states]

    def _shares(self, input: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        return F.linear(input, self.weight_ih, self.bias_ih), F.linear(h, self.weight_hh, self.bias_hh)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(RNNCellBase):
    gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", **kwargs: Any
    ) -> None:
        super().__init__(input_size, hidden_size, bias, **kwargs)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        (h,) = self._checked(input, hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        a, b = self._shares(input, h)
        return (a + b).tanh() if self.nonlinearity == "tanh" else (a + b).relu()

    def extra_repr(self) -> str:
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")


class GRUCell(RNNCellBase):
    gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        (h,) = self._checked(input, hx)
        a, b = self._shares(input, h)
        (a_r, a_z, a_n), (b_r, b_z, b_n) = a.chunk(3, -1), b.chunk(3, -1)
        z = (a_z + b_z).sigmoid()
        new = (a_n + (a_r + b_r).sigmoid() * b_n).tanh()
        return new + z * (h - new)


class LSTMCell(RNNCellBase):
    gates = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        h, c = self._checked(input, *(hx if hx is not None else (None, None)))
        return lstm_step(input, h, c, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
