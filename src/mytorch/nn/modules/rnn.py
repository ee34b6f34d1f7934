"""RNN, GRU and LSTM: layers and directions around the recorded operation for one of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mytorch.creation import empty
from mytorch.nn import functional as F
from mytorch.nn import init
from mytorch.nn.functional.recurrent import gru_layer, lstm_layer, rnn_layer
from mytorch.nn.parameter import Parameter
from mytorch.nn.utils.rnn import PackedSequence, pack_padded_sequence, padded
from mytorch.ops.shape import cat, stack
from mytorch.tensor import Tensor

from .module import Module
from .rnn_cell import projected_lstm

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]

_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


class RNNBase(Module):
    """Output (T, N, D·H) and the last state (layers·D, N, H), D the number of directions; LSTM's is a pair (h, c)."""

    def __init__(
        self,
        mode: str,
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
        _check_sizes(mode, hidden_size, num_layers, dropout, proj_size)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._suffixes = ("", "_reverse") if bidirectional else ("",)
        self._all_weights: list[list[str]] = []
        rows, out = _GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else out * len(self._suffixes)
            for suffix in self._suffixes:
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, out)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in shapes])
                for name, shape in shapes.items():
                    setattr(self, f"{name}_l{layer}{suffix}", Parameter(empty(shape, dtype=dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: there is no packed copy of the weights to refresh."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        if input._array.ndim not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input._array.ndim}D instead")
        batched = input._array.ndim == 3
        x = input.unsqueeze(1) if not batched else input.transpose(0, 1) if self.batch_first else input
        if hx is not None:
            parts = hx if isinstance(hx, (tuple, list)) else (hx,)
            rank = 3 if batched else 2
            if any(part._array.ndim != rank for part in parts):
                raise RuntimeError(
                    f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx should also be {rank}-D but got "
                    f"{[part._array.ndim for part in parts]}-D"
                )
            hx = parts if batched else tuple(part.unsqueeze(1) for part in parts)
        x, states = self._layers(x, hx, None)
        if not batched:
            x, states = x.squeeze(1), [state.squeeze(1) for state in states]
        elif self.batch_first:
            x = x.transpose(0, 1)
        return x, self._state(states)

    def _packed(self, sequence: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        counts = sequence.lengths()
        valid = (np.arange(counts[0])[:, None] < counts)[..., None]  # (T, N, 1)
        if hx is not None:
            hx = hx if isinstance(hx, (tuple, list)) else (hx,)
            if sequence.sorted_indices is not None:
                hx = [part[:, sequence.sorted_indices] for part in hx]
        x, states = self._layers(padded(sequence), hx, None if valid.all() else valid)
        if sequence.unsorted_indices is not None:
            states = [state[:, sequence.unsorted_indices] for state in states]
        packed = pack_padded_sequence(x, counts)
        return packed._replace(
            sorted_indices=sequence.sorted_indices, unsorted_indices=sequence.unsorted_indices
        ), self._state(states)

    def _state(self, states: list[Tensor]) -> Any:
        return tuple(states) if self.mode == "LSTM" else states[0]

    def _layers(self, x: Tensor, hx: Any, valid: np.ndarray | None) -> tuple[Tensor, list[Tensor]]:
        """x (T, N, I) through all layers -> the last one's output and the states, each (layers · D, N, H)."""
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}"
            )
        if x.shape[0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        count = self.num_layers * len(self._suffixes)
        widths = (self.proj_size or self.hidden_size, self.hidden_size)[: 2 if self.mode == "LSTM" else 1]
        shapes = [(count, x.shape[1], width) for width in widths]
        if hx is None:
            hx = [Tensor(np.zeros(shape, x._array.dtype)) for shape in shapes]
        for part, shape, name in zip(hx, shapes, ("hidden", "cell")):
            if tuple(part.shape) != shape:
                raise RuntimeError(f"Expected {name} size {shape}, got {list(part.shape)}")
        last: list[list[Tensor]] = [[] for _ in widths]
        for layer in range(self.num_layers):
            outputs = []
            for direction, suffix in enumerate(self._suffixes):
                at = layer * len(self._suffixes) + direction
                steps, *states = self._one(x, [part[at] for part in hx], f"_l{layer}{suffix}", bool(direction), valid)
                outputs.append(steps)
                for kept, state in zip(last, states):
                    kept.append(state)
            x = cat(outputs, -1) if len(outputs) == 2 else outputs[0]
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, [stack(states) for states in last]

    def _one(self, x: Tensor, states: list[Tensor], name: str, reverse: bool, valid: np.ndarray | None) -> Any:
        """One layer in one direction."""
        w_ih, w_hh = getattr(self, f"weight_ih{name}"), getattr(self, f"weight_hh{name}")
        b_ih, b_hh = getattr(self, f"bias_ih{name}", None), getattr(self, f"bias_hh{name}", None)
        if self.mode == "GRU":
            return gru_layer(x, states[0], w_ih, w_hh, b_ih, b_hh, reverse, valid)
        if self.mode != "LSTM":
            return rnn_layer(x, states[0], w_ih, w_hh, b_ih, b_hh, reverse, valid, self.mode == "RNN_RELU")
        if self.proj_size:
            w_hr = getattr(self, f"weight_hr{name}")
            return projected_lstm(x, states[0], states[1], w_ih, w_hh, b_ih, b_hh, w_hr, reverse, valid)
        return lstm_layer(x, states[0], states[1], w_ih, w_hh, b_ih, b_hh, reverse, valid)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        for name, default in ({"proj_size": 0} | defaults).items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


def _check_sizes(mode: str, hidden_size: int, num_layers: int, dropout: float, proj_size: int) -> None:
    if not isinstance(dropout, (int, float)) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if not isinstance(hidden_size, int):
        raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
    if hidden_size <= 0:
        raise ValueError("hidden_size must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size and mode != "LSTM":
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    if not 0 <= proj_size < hidden_size:
        raise ValueError("proj_size has to be a positive integer, smaller than hidden_size (zero turns it off)")


class RNN(RNNBase):
    """Elman's network: h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu."""

    def __init__(self, *args: Any, **kwargs: Any):
        sizes = list(args)
        kind = kwargs.pop("nonlinearity", None) or (sizes.pop(3) if len(sizes) > 3 else "tanh")
        if kind not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{kind}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{kind.upper()}", *sizes, **kwargs)
        self.nonlinearity = kind


class GRU(RNNBase):
    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("LSTM", *args, **kwargs)
