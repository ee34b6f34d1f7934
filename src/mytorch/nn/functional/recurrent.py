"""One direction of one LSTM layer as a single recorded operation: forward through time, and back."""

from __future__ import annotations

import numpy as np

from mytorch.autograd import record
from mytorch.ops.pointwise import sigmoid_array
from mytorch.tensor import Tensor


def lstm_layer(
    x: Tensor,
    h0: Tensor,
    c0: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    reverse: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """x (T, N, I), h0 and c0 (N, H), w_ih (4H, I), w_hh (4H, H) -> outputs (T, N, H), last h and c (N, H).

    The gates lie in torch's order: input, forget, cell, output. With reverse, time runs from the last step.
    """
    inputs, wi, wh = x._array, w_ih._array, w_hh._array
    steps, n, _ = inputs.shape
    hidden = wh.shape[1]
    order = range(steps)[::-1] if reverse else range(steps)
    bias = 0 if b_ih is None or b_hh is None else b_ih._array + b_hh._array
    # The input's share of all gates at all times is one product.
    gates = (inputs.reshape(-1, inputs.shape[2]) @ wi.T + bias).reshape(steps, n, 4 * hidden)
    # Outputs of all steps, and behind them the last cell state, so that one array carries every result.
    result = np.empty((steps + 1, n, hidden), inputs.dtype)
    cells = np.empty((steps, n, hidden), inputs.dtype)
    h, c = h0._array, c0._array
    for t in order:
        a = gates[t]
        a += h @ wh.T
        a[:, : 2 * hidden] = sigmoid_array(a[:, : 2 * hidden])
        a[:, 2 * hidden : 3 * hidden] = np.tanh(a[:, 2 * hidden : 3 * hidden])
        a[:, 3 * hidden :] = sigmoid_array(a[:, 3 * hidden :])
        i, f, u, o = np.split(a, 4, axis=1)
        c = np.add(f * c, i * u, out=cells[t])
        h = np.multiply(o, np.tanh(c), out=result[t])
    result[steps] = c

    def lstm_backward(grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
        ga = np.empty_like(gates)  # gradient of the gates before their nonlinearity
        gh, gc = np.zeros((n, hidden), grad.dtype), grad[steps].copy()
        times = list(order)
        for place in range(steps - 1, -1, -1):
            t = times[place]
            before = cells[times[place - 1]] if place else c0._array
            i, f, u, o = np.split(gates[t], 4, axis=1)
            gi, gf, gu, go = np.split(ga[t], 4, axis=1)
            gh += grad[t]
            squashed = np.tanh(cells[t])
            gc += gh * o * (1 - squashed * squashed)
            go[:] = gh * squashed * o * (1 - o)
            gi[:] = gc * u * i * (1 - i)
            gf[:] = gc * before * f * (1 - f)
            gu[:] = gc * i * (1 - u * u)
            gc *= f
            gh = ga[t] @ wh
        flat = ga.reshape(-1, 4 * hidden)
        # What each step saw as the hidden state before it.
        previous = np.empty_like(cells)
        if reverse:
            previous[:-1], previous[-1] = result[1:steps], h0._array
        else:
            previous[1:], previous[0] = result[: steps - 1], h0._array
        gx = (flat @ wi).reshape(inputs.shape)
        gb = flat.sum(0)
        gw = flat.T @ inputs.reshape(len(flat), -1), flat.T @ previous.reshape(len(flat), -1)
        return gx, gh, gc, *gw, gb, gb.copy()

    parents = (x, h0, c0, w_ih, w_hh) if b_ih is None or b_hh is None else (x, h0, c0, w_ih, w_hh, b_ih, b_hh)
    both = record(result, parents, lstm_backward, saved=(x, h0, c0, w_ih, w_hh), saves_output=True)
    return both[:steps], both[0 if reverse else steps - 1], both[steps]
