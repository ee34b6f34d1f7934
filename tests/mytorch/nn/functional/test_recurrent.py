"""One LSTM layer against torch's, forwards and backwards in time."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check, gradcheck

import mytorch
from mytorch.nn.functional.recurrent import lstm_layer


def both(reverse, bias=True):
    def fn(t, x, h, c, *weights):
        weights = weights if bias else weights[:2]
        if t is mytorch:
            return lstm_layer(x, h, c, *weights, reverse=reverse)
        steps = x.flip(0) if reverse else x
        out, hn, cn = torch._VF.lstm(steps, (h[None], c[None]), list(weights), bias, 1, 0.0, False, False, False)
        return out.flip(0) if reverse else out, hn[0], cn[0]

    return fn


@settings(max_examples=12, deadline=None)
@given(
    steps=st.integers(1, 5),
    batch=st.integers(1, 3),
    ins=st.integers(1, 3),
    hidden=st.integers(1, 3),
    reverse=st.booleans(),
    bias=st.booleans(),
)
def test_lstm_layer(steps, batch, ins, hidden, reverse, bias):
    state, gates = (batch, hidden), 4 * hidden
    parts = [(gates, ins), (gates, hidden), (gates,), (gates,)][: 4 if bias else 2]
    check(both(reverse, bias), (steps, batch, ins), state, state, *parts)


def test_huge_inputs_are_safe():
    check(both(False), (3, 2, 2), (2, 2), (2, 2), (8, 2), (8, 2), (8,), (8,), low=-1e3, high=1e3, rtol=1e-3)


@pytest.mark.parametrize("reverse", [False, True])
def test_numerical_gradients(reverse):
    def fn(*parts):
        out, h, c = lstm_layer(*parts, reverse=reverse)
        return mytorch.cat([out.reshape(-1), h.reshape(-1), c.reshape(-1)])

    gradcheck(fn, (3, 2, 2), (2, 1), (2, 1), (4, 2), (4, 1), (4,), (4,))
