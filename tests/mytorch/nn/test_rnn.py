"""RNN, GRU, LSTM, their cells and packed sequences beside torch's, values and gradients."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mytorch


def pair(name, *args, **kwargs):
    """The same layer in both libraries with the same weights, in float64."""
    theirs = getattr(torch.nn, name)(*args, **kwargs).double()
    ours = getattr(mytorch.nn, name)(*args, **kwargs).double()
    ours.load_state_dict(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    return ours, theirs


def close(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11)


def flat(value):
    if isinstance(value, tuple) and not hasattr(value, "batch_sizes"):
        return [leaf for part in value for leaf in flat(part)]
    return [value.data if hasattr(value, "batch_sizes") else value]


def compare(ours, theirs, our_out, their_out):
    a, b = flat(our_out), flat(their_out)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        close(x, y)
    sum((x * x.cos()).sum() for x in a).backward()
    sum((y * y.cos()).sum() for y in b).backward()
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters()):
        assert p.grad is not None, name
        close(p.grad, q.grad)


@settings(max_examples=30, deadline=None)
@given(
    kind=st.sampled_from(["RNN", "RNN relu", "GRU", "LSTM", "LSTM projected"]),
    layers=st.integers(1, 2),
    bidirectional=st.booleans(),
    bias=st.booleans(),
    batch_first=st.booleans(),
    with_state=st.booleans(),
    how=st.sampled_from(["batch", "one", "packed", "packed unsorted"]),
)
def test_layers(kind, layers, bidirectional, bias, batch_first, with_state, how):
    name, _, more = kind.partition(" ")
    extra = {"relu": {"nonlinearity": "relu"}, "projected": {"proj_size": 2}}.get(more, {})
    settings_ = {"bias": bias, "batch_first": batch_first, "bidirectional": bidirectional, **extra}
    ours, theirs = pair(name, 3, 4, layers, **settings_)
    rng = np.random.default_rng(0)
    steps, n, count = 5, 3, layers * (1 + bidirectional)
    shape = (steps, 3) if how == "one" else (n, steps, 3) if batch_first else (steps, n, 3)
    x = rng.normal(size=shape)
    a, b = mytorch.from_numpy(x).requires_grad_(), torch.from_numpy(x).requires_grad_()
    inputs = [a, b]
    if "packed" in how:
        lengths = [2, 5, 1] if "unsorted" in how else [5, 3, 1]
        inputs = [
            lib.nn.utils.rnn.pack_padded_sequence(
                leaf, lengths, batch_first=batch_first, enforce_sorted="unsorted" not in how
            )
            for lib, leaf in ((mytorch, a), (torch, b))
        ]
    states = [None, None]
    if with_state:
        middle = () if how == "one" else (n,)
        widths = [2 if more == "projected" else 4] + [4] * (name == "LSTM")
        arrays = [rng.normal(size=(count, *middle, width)) for width in widths]
        states = [tuple(lib.from_numpy(s) for s in arrays) for lib in (mytorch, torch)]
        states = states if name == "LSTM" else [part[0] for part in states]
    ours_out, theirs_out = ours(inputs[0], states[0]), theirs(inputs[1], states[1])
    compare(ours, theirs, ours_out, theirs_out)
    close(a.grad, b.grad)
    if "packed" in how:
        for p, q in zip(
            mytorch.nn.utils.rnn.pad_packed_sequence(ours_out[0], batch_first=batch_first, total_length=6),
            torch.nn.utils.rnn.pad_packed_sequence(theirs_out[0], batch_first=batch_first, total_length=6),
        ):
            close(p, q)


@pytest.mark.parametrize("name", ["RNNCell", "GRUCell", "LSTMCell"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(2, 3), (3,)])
def test_cells(name, bias, shape):
    ours, theirs = pair(name, 3, 4, bias=bias)
    x = np.random.default_rng(0).normal(size=shape)
    a, b = mytorch.from_numpy(x), torch.from_numpy(x)
    compare(ours, theirs, ours(a, ours(a)), theirs(b, theirs(b)))


def test_sequences_are_padded_packed_and_taken_apart_again():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(length, 2)) for length in (3, 1, 4)]
    for side in ("left", "right"):
        for batch_first in (True, False):
            blocks = [
                lib.nn.utils.rnn.pad_sequence(
                    [lib.from_numpy(x) for x in arrays], batch_first=batch_first, padding_value=7, padding_side=side
                )
                for lib in (mytorch, torch)
            ]
            close(*blocks)
    packed = [
        lib.nn.utils.rnn.pack_sequence([lib.from_numpy(x) for x in arrays], enforce_sorted=False)
        for lib in (mytorch, torch)
    ]
    for p, q in zip(*packed):
        np.testing.assert_array_equal(p.numpy(), q.numpy())
    for back, x in zip(mytorch.nn.utils.rnn.unpack_sequence(packed[0]), arrays):
        np.testing.assert_array_equal(back.numpy(), x)


def test_errors_name_the_rule():
    gru = mytorch.nn.GRU(3, 4)
    with pytest.raises(RuntimeError, match=r"Expected 3, got 2"):
        gru(mytorch.ones(5, 1, 2))
    with pytest.raises(RuntimeError, match=r"Expected hidden size \(1, 2, 4\), got \[1, 3, 4\]"):
        gru(mytorch.ones(5, 2, 3), mytorch.ones(1, 3, 4))
    with pytest.raises(ValueError, match="2D or 3D"):
        gru(mytorch.ones(1, 5, 2, 3))
    with pytest.raises(ValueError, match="Unknown nonlinearity"):
        mytorch.nn.RNN(1, 1, nonlinearity="sine")
    with pytest.raises(RuntimeError, match="enforce_sorted=False"):
        mytorch.nn.utils.rnn.pack_padded_sequence(mytorch.ones(3, 2, 1), [1, 2])


@pytest.mark.parametrize("lengths", [[5, 3, 1], [2, 5, 1]])
def test_a_projected_lstm_of_packed_sequences(lengths):
    ours, theirs = pair("LSTM", 3, 4, 2, proj_size=2, bidirectional=True)
    x = np.random.default_rng(0).normal(size=(5, 3, 3))
    outs = []
    for lib, layer in ((mytorch, ours), (torch, theirs)):
        rnn = lib.nn.utils.rnn
        outs.append(layer(rnn.pack_padded_sequence(lib.from_numpy(x), lengths, enforce_sorted=lengths[0] == 5)))
    compare(ours, theirs, *outs)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_batch_of_no_sequences(kind):
    ours, theirs = pair(kind, 3, 4)
    compare(ours, theirs, ours(mytorch.zeros(5, 0, 3).double()), theirs(torch.zeros(5, 0, 3).double()))
