"""One direction of one recurrent layer (RNN, GRU, LSTM) as a single recorded operation: through time, and back.

x is (T, N, I), h0 (N, H), w_ih (k·H, I) and w_hh (k·H, H) with k gates one above the other in torch's order. With
`reverse` time runs from the last step. Where `valid` (T, N, 1) is False, a sequence has ended (or, in reverse, not yet
begun): its state is handed on unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.autograd import record, spelled_out
from mytorch.ops.pointwise import sigmoid_array, where
from mytorch.ops.shape import stack
from mytorch.tensor import Tensor


def _input_share(x: np.ndarray, w: np.ndarray, bias: Any) -> np.ndarray:
    """The input's share of all gates at all times is one product: (T, N, k·H)."""
    return (x.reshape(-1, x.shape[2]) @ w.T + bias).reshape(*x.shape[:2], len(w))


def _before(states: np.ndarray, first: np.ndarray, reverse: bool) -> np.ndarray:
    """The hidden state before each step."""
    previous = np.empty_like(states)
    if reverse:
        previous[:-1], previous[-1] = states[1:], first
    else:
        previous[1:], previous[0] = states[:-1], first
    return previous


def _weight_grads(ga: np.ndarray, gb: np.ndarray, x: np.ndarray, before: np.ndarray) -> tuple:
    """Gradients of w_ih and w_hh from those of the gates' input shares (ga) and hidden shares (gb)."""
    flat, hidden = ga.reshape(-1, ga.shape[2]), gb.reshape(-1, gb.shape[2])
    return flat.T @ x.reshape(-1, x.shape[2]), hidden.T @ before.reshape(-1, before.shape[2])


def _again(plainly: Any) -> Any:
    """For create_graph=True: the layer step by step, without the result that is saved too."""
    return lambda g, *saved: spelled_out(plainly)(g, *saved[:-1])


def _plus(x: Tensor, bias: tuple[Tensor, ...]) -> Tensor:
    return x + bias[0] if bias else x


def _live(valid: np.ndarray | None, t: int, new: Tensor, old: Tensor) -> Tensor:
    return new if valid is None else where(Tensor(valid[t]), new, old)


def rnn_layer(
    x: Tensor,
    h0: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    reverse: bool = False,
    valid: np.ndarray | None = None,
    relu: bool = False,
) -> tuple[Tensor, Tensor]:
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of it -> outputs (T, N, H) and the last h."""
    inputs, wi, wh = x._array, w_ih._array, w_hh._array
    steps = len(inputs)
    times = list(range(steps)[::-1] if reverse else range(steps))
    bias = 0 if b_ih is None or b_hh is None else b_ih._array + b_hh._array
    states = _input_share(inputs, wi, bias)
    h = h0._array
    for t in times:
        a = states[t]
        a += h @ wh.T
        if relu:
            np.maximum(a, 0, out=a)
        else:
            np.tanh(a, out=a)
        if valid is not None:
            np.copyto(a, h, where=~valid[t])
        h = a

    def rnn_backward(grad: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray | None, ...]:
        ga = np.empty_like(states)
        gh = np.zeros_like(h0._array)
        for t in reversed(times):
            gh = gh + grad[t]
            ga[t] = gh * (states[t] > 0) if relu else gh * (1 - states[t] * states[t])
            if valid is None:
                gh = ga[t] @ wh
            else:
                ga[t] *= valid[t]
                gh = ga[t] @ wh + gh * ~valid[t]
        gw = _weight_grads(ga, ga, inputs, _before(states, h0._array, reverse))
        gb = ga.sum((0, 1))
        return ga @ wi, gh, *gw, gb, gb.copy()

    parents = (x, h0, w_ih, w_hh) if b_ih is None or b_hh is None else (x, h0, w_ih, w_hh, b_ih, b_hh)

    def plainly(x: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, *biases: Tensor) -> Tensor:
        outputs = {}
        for t in times:
            a = _plus(x[t].matmul(w_ih.t()), biases[:1]) + _plus(h.matmul(w_hh.t()), biases[1:])
            outputs[t] = h = _live(valid, t, a.relu() if relu else a.tanh(), h)
        return stack([outputs[t] for t in range(steps)])

    out = record(states, parents, rnn_backward, parents, True, again=_again(plainly))
    return out, out[times[-1]]


def gru_layer(
    x: Tensor,
    h0: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    reverse: bool = False,
    valid: np.ndarray | None = None,
) -> tuple[Tensor, Tensor]:
    """Gates r (reset), z (update), n (new): n = tanh(… + r · (W_hn h + b_hn)),  h = (1 - z) · n + z · h."""
    inputs, wi, wh = x._array, w_ih._array, w_hh._array
    steps, n, _ = inputs.shape
    hidden = wh.shape[1]
    times = list(range(steps)[::-1] if reverse else range(steps))
    has_bias = b_ih is not None and b_hh is not None
    gates = _input_share(inputs, wi, b_ih._array if b_ih is not None else 0)
    inner = np.empty((steps, n, hidden), inputs.dtype)  # W_hn h + b_hn, which r multiplies
    states = np.empty((steps, n, hidden), inputs.dtype)
    h = h0._array
    for t in times:
        a, b = gates[t], h @ wh.T
        if b_hh is not None:
            b += b_hh._array
        inner[t] = b[:, 2 * hidden :]
        a[:, : 2 * hidden] += b[:, : 2 * hidden]
        a[:, : 2 * hidden] = sigmoid_array(a[:, : 2 * hidden])
        r, z, new = np.split(a, 3, axis=1)
        new += r * inner[t]
        np.tanh(new, out=new)
        np.add(new, z * (h - new), out=states[t])
        if valid is not None:
            np.copyto(states[t], h, where=~valid[t])
        h = states[t]

    def gru_backward(grad: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray | None, ...]:
        ga, gb = np.empty_like(gates), np.empty_like(gates)  # of the input's and of the state's share of the gates
        before = _before(states, h0._array, reverse)
        gh = np.zeros_like(h0._array)
        for t in reversed(times):
            gh = gh + grad[t]
            live = gh if valid is None else gh * valid[t]
            r, z, new = np.split(gates[t], 3, axis=1)
            g_new = live * (1 - z) * (1 - new * new)
            ga[t, :, :hidden] = g_new * inner[t] * r * (1 - r)
            ga[t, :, hidden : 2 * hidden] = live * (before[t] - new) * z * (1 - z)
            ga[t, :, 2 * hidden :] = g_new
            gb[t] = ga[t]
            gb[t, :, 2 * hidden :] *= r
            gh = gb[t] @ wh + (live * z if valid is None else live * z + gh * ~valid[t])
        gw = _weight_grads(ga, gb, inputs, before)
        return ga @ wi, gh, *gw, ga.sum((0, 1)), gb.sum((0, 1))

    parents: tuple[Any, ...] = (x, h0, w_ih, w_hh, b_ih, b_hh) if has_bias else (x, h0, w_ih, w_hh)

    def plainly(x: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, *biases: Tensor) -> Tensor:
        outputs = {}
        for t in times:
            a, b = _plus(x[t].matmul(w_ih.t()), biases[:1]), _plus(h.matmul(w_hh.t()), biases[1:])
            (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
            z, new = (az + bz).sigmoid(), (an + (ar + br).sigmoid() * bn).tanh()
            outputs[t] = h = _live(valid, t, (1 - z) * new + z * h, h)
        return stack([outputs[t] for t in range(steps)])

    out = record(states, parents, gru_backward, parents, True, again=_again(plainly))
    return out, out[times[-1]]


def lstm_layer(
    x: Tensor,
    h0: Tensor,
    c0: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    reverse: bool = False,
    valid: np.ndarray | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gates input, forget, cell, output: c = f · c + i · u,  h = o · tanh(c) -> outputs, last h and last c."""
    inputs, wi, wh = x._array, w_ih._array, w_hh._array
    steps, n, _ = inputs.shape
    hidden = wh.shape[1]
    times = list(range(steps)[::-1] if reverse else range(steps))
    bias = 0 if b_ih is None or b_hh is None else b_ih._array + b_hh._array
    # sigmoid(a) = (1 + tanh(a / 2)) / 2, so one call of tanh serves all gates if the weights of three are halved.
    scale = np.full(4 * hidden, 0.5, inputs.dtype)
    scale[2 * hidden : 3 * hidden] = 1
    gates = _input_share(inputs, wi * scale[:, None], bias * scale)
    halved = (wh * scale[:, None]).T
    # Outputs of all steps, and behind them the last cell state, so that one array carries every result.
    result = np.empty((steps + 1, n, hidden), inputs.dtype)
    cells, squashed = np.empty((2, steps, n, hidden), inputs.dtype)
    share, fresh = np.empty((n, 4 * hidden), inputs.dtype), np.empty((n, hidden), inputs.dtype)
    h, c = h0._array, c0._array
    for t in times:
        a = gates[t]
        np.matmul(h, halved, out=share)
        a += share
        np.tanh(a, out=a)
        a *= scale
        a += 1 - scale
        i, f, u, o = (a[:, k : k + hidden] for k in range(0, 4 * hidden, hidden))
        np.multiply(f, c, out=cells[t])  # what is kept of the old state
        np.multiply(i, u, out=fresh)
        cells[t] += fresh
        np.tanh(cells[t], out=squashed[t])
        np.multiply(o, squashed[t], out=result[t])
        if valid is not None:
            np.copyto(cells[t], c, where=~valid[t])
            np.copyto(result[t], h, where=~valid[t])
        h, c = result[t], cells[t]
    result[steps] = c

    def lstm_backward(grad: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray | None, ...]:
        before = _before(cells, c0._array, reverse)
        ga = np.empty_like(gates)  # gradient of the gates before their nonlinearity
        part, factors = np.empty((n, hidden), grad.dtype), np.empty((n, 4, hidden), grad.dtype)
        gh, gc = np.zeros((n, hidden), grad.dtype), grad[steps].copy()
        for t in reversed(times):
            a = gates[t]
            i, f, u, o = (a[:, k : k + hidden] for k in range(0, 4 * hidden, hidden))
            gh += grad[t]
            np.multiply(squashed[t], squashed[t], out=part)
            np.subtract(1, part, out=part)
            part *= o
            part *= gh
            gc += part if valid is None else part * valid[t]
            np.subtract(1, a, out=ga[t])
            ga[t] *= a  # the slope of the sigmoids; that of u is 1 - u²
            np.multiply(u, u, out=part)
            np.subtract(1, part, out=ga[t, :, 2 * hidden : 3 * hidden])
            np.multiply(u, gc, out=factors[:, 0])
            np.multiply(before[t], gc, out=factors[:, 1])
            np.multiply(i, gc, out=factors[:, 2])
            np.multiply(squashed[t], gh, out=factors[:, 3])
            ga[t] *= factors.reshape(n, 4 * hidden)
            if valid is None:
                gc *= f
                gh = ga[t] @ wh
            else:
                ga[t] *= valid[t]
                gc *= np.where(valid[t], f, 1)
                gh = ga[t] @ wh + gh * ~valid[t]
        gw = _weight_grads(ga, ga, inputs, _before(result[:steps], h0._array, reverse))
        gb = ga.sum((0, 1))
        gx = (ga.reshape(-1, 4 * hidden) @ wi).reshape(inputs.shape) if x.requires_grad else None
        return gx, gh, gc, *gw, gb, gb.copy()

    parents = (x, h0, c0, w_ih, w_hh) if b_ih is None or b_hh is None else (x, h0, c0, w_ih, w_hh, b_ih, b_hh)

    def plainly(x: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, *biases: Tensor) -> Tensor:
        outputs = {}
        for t in times:
            a = _plus(x[t].matmul(w_ih.t()), biases[:1]) + _plus(h.matmul(w_hh.t()), biases[1:])
            i, f, u, o = a.chunk(4, 1)
            c = _live(valid, t, f.sigmoid() * c + i.sigmoid() * u.tanh(), c)
            outputs[t] = h = _live(valid, t, o.sigmoid() * c.tanh(), h)
        return stack([*[outputs[t] for t in range(steps)], c])

    both = record(result, parents, lstm_backward, parents, True, again=_again(plainly))
    return both[:steps], both[times[-1]], both[steps]
