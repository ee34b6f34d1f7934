"""LSTM: layers and directions around the recorded operation for one of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mytorch.creation import empty
from mytorch.nn import functional as F
from mytorch.nn import init
from mytorch.nn.functional.recurrent import lstm_layer
from mytorch.nn.parameter import Parameter
from mytorch.ops.shape import cat, stack
from mytorch.tensor import Tensor

from .module import Module


class LSTM(Module):
    """Gives the output (T, N, D·H) and the last (h, c), each (layers·D, N, H), D the number of directions."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        if proj_size:
            raise NotImplementedError("mytorch has no proj_size in LSTM")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional = bidirectional
        self._suffixes = ("", "_reverse") if bidirectional else ("",)
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * len(self._suffixes)
            for suffix in self._suffixes:
                shapes: dict[str, tuple[int, ...]] = {}
                shapes["weight_ih"] = (4 * hidden_size, width)
                shapes["weight_hh"] = (4 * hidden_size, hidden_size)
                if bias:
                    shapes |= {"bias_ih": (4 * hidden_size,), "bias_hh": (4 * hidden_size,)}
                for name, shape in shapes.items():
                    setattr(self, f"{name}_l{layer}{suffix}", Parameter(empty(shape, dtype=dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: there is no packed copy of the weights to renew."""

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        if not isinstance(input, Tensor):
            raise NotImplementedError(f"mytorch's LSTM takes a Tensor, but got {type(input).__name__}")
        batched = input._array.ndim == 3
        x = input.unsqueeze(1) if not batched else input.transpose(0, 1) if self.batch_first else input
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}"
            )
        directions = len(self._suffixes)
        if hx is None:
            shape = (self.num_layers * directions, x.shape[1], self.hidden_size)
            zero = Tensor(np.zeros(shape, x._array.dtype))
            starts = zero, zero
        else:
            starts = hx if batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        last_hidden, last_cells = [], []
        for layer in range(self.num_layers):
            outputs = []
            for direction, suffix in enumerate(self._suffixes):
                parts: list[Any] = [getattr(self, f"{name}_l{layer}{suffix}", None) for name in _WEIGHTS]
                w_ih, w_hh, b_ih, b_hh = parts
                at = layer * directions + direction
                steps, hidden, cell = lstm_layer(
                    x, starts[0][at], starts[1][at], w_ih, w_hh, b_ih, b_hh, reverse=bool(direction)
                )
                outputs.append(steps)
                last_hidden.append(hidden)
                last_cells.append(cell)
            x = cat(outputs, -1) if directions == 2 else outputs[0]
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        hidden, cells = stack(last_hidden), stack(last_cells)  # (layers · directions, N, H)
        if not batched:
            return x.squeeze(1), (hidden.squeeze(1), cells.squeeze(1))
        return (x.transpose(0, 1) if self.batch_first else x), (hidden, cells)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        for name, default in defaults.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
