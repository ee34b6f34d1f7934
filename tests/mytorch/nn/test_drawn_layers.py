"""Layers with settings drawn at random, beside torch's: what the fixed list of layers does not happen to combine."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_layers import pair, same_step

import mytorch

drawn = settings(max_examples=15, deadline=None)
small = st.integers(1, 3)


def arrays(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-2, 2, shape) for shape in shapes]


@given(
    groups=small,
    wide=st.tuples(small, small),
    kernel=st.tuples(small, small),
    stride=st.tuples(small, small),
    padding=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    bias=st.booleans(),
    size=st.tuples(st.integers(5, 9), st.integers(5, 9)),
)
@drawn
def test_conv(groups, wide, kernel, stride, padding, dilation, bias, size):
    channels, out = groups * wide[0], groups * wide[1]
    ours, theirs = pair(lambda nn: nn.Conv2d(channels, out, kernel, stride, padding, dilation, groups, bias))
    assert repr(ours) == repr(theirs)
    same_step(ours, theirs, arrays((2, channels, *size)), 1e-8)
    extra = tuple(min(s, d + 1) - 1 for s, d in zip(stride, dilation))  # below stride or dilation, as torch asks
    ours, theirs = pair(
        lambda nn: nn.ConvTranspose2d(channels, out, kernel, stride, padding, extra, groups, bias, dilation)
    )
    assert repr(ours) == repr(theirs)
    same_step(ours, theirs, arrays((2, channels, *size)), 1e-8)


@given(
    kernel=st.tuples(small, small),
    stride=st.none() | st.tuples(small, small),
    padded=st.booleans(),
    ceil=st.booleans(),
    include=st.booleans(),
    size=st.tuples(st.integers(3, 8), st.integers(3, 8)),
)
@drawn
def test_pools(kernel, stride, padded, ceil, include, size):
    padding = tuple(k // 2 for k in kernel) if padded else 0
    for build in (
        lambda nn: nn.MaxPool2d(kernel, stride, padding, ceil_mode=ceil),
        lambda nn: nn.AvgPool2d(kernel, stride, padding, ceil, include),
        lambda nn: nn.AdaptiveAvgPool2d(kernel),
    ):
        ours, theirs = pair(build)
        assert repr(ours) == repr(theirs)
        same_step(ours, theirs, arrays((2, 3, *size)), 1e-8)


@given(
    count=st.integers(2, 4),
    channels=st.integers(1, 4),
    rest=st.lists(small, max_size=2).map(tuple),
    momentum=st.none() | st.floats(0.01, 1.0),
    affine=st.booleans(),
    track=st.booleans(),
    training=st.booleans(),
)
@drawn
def test_batch_norm(count, channels, rest, momentum, affine, track, training):
    kind = "BatchNorm2d" if len(rest) == 2 else "BatchNorm1d"
    ours, theirs = pair(
        lambda nn: getattr(nn, kind)(channels, momentum=momentum, affine=affine, track_running_stats=track)
    )
    for seed in range(3):
        shape = (count, channels, *rest)
        same_step(ours.train(training), theirs.train(training), arrays(shape, seed=seed), 1e-7)


@given(
    sizes=st.tuples(small, small),
    layers=small,
    bias=st.booleans(),
    batch_first=st.booleans(),
    both=st.booleans(),
    steps=st.integers(1, 5),
)
@drawn
def test_lstm(sizes, layers, bias, batch_first, both, steps):
    ours, theirs = pair(lambda nn: nn.LSTM(*sizes, layers, bias, batch_first, bidirectional=both))
    assert repr(ours) == repr(theirs)
    shape = (2, steps, sizes[0]) if batch_first else (steps, 2, sizes[0])
    same_step(ours, theirs, arrays(shape), 1e-8)


@given(
    heads=small,
    width=small,
    hidden=st.integers(1, 6),
    activation=st.sampled_from(["relu", "gelu"]),
    batch_first=st.booleans(),
    norm_first=st.booleans(),
    bias=st.booleans(),
    length=st.integers(1, 5),
)
@drawn
def test_encoder_layer(heads, width, hidden, activation, batch_first, norm_first, bias, length):
    wide = 2 * heads * width
    ours, theirs = pair(
        lambda nn: nn.TransformerEncoderLayer(wide, heads, hidden, 0.0, activation, 1e-5, batch_first, norm_first, bias)
    )
    same_step(ours, theirs, arrays((2, length, wide)), 1e-7)


@given(shape=st.lists(small, min_size=2, max_size=4).map(tuple), rank=small, eps=st.floats(1e-6, 1e-1))
@drawn
def test_layer_norm(shape, rank, eps):
    assume(rank < len(shape))
    ours, theirs = pair(lambda nn: nn.LayerNorm(shape[-rank:], eps))
    assert repr(ours) == repr(theirs)
    same_step(ours, theirs, arrays(shape), 1e-6)


@given(p=st.floats(0.1, 0.9), shape=st.sampled_from([(2000,), (100, 20), (10, 20, 3, 4)]))
@drawn
def test_dropout_keeps_the_mean_and_stops_in_eval(p, shape):
    mytorch.manual_seed(0)
    x = mytorch.ones(*shape, requires_grad=True)
    for kind in ("Dropout", "Dropout2d") if len(shape) == 4 else ("Dropout",):
        layer = getattr(mytorch.nn, kind)(p)
        out = layer(x)
        values = out.detach().numpy()
        kept = values != 0
        np.testing.assert_allclose(values[kept], 1 / (1 - p), rtol=1e-5)
        assert abs(kept.mean() - (1 - p)) < (0.05 if kind == "Dropout" else 0.2)
        if kind == "Dropout2d":  # whole channels
            assert (kept.reshape(200, -1).all(1) | ~kept.reshape(200, -1).any(1)).all()
        x.grad = None
        out.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), values)
        assert (layer.eval()(x).detach().numpy() == 1).all()
