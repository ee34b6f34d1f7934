"""Batch, layer and group norm against torch, running statistics and degenerate variances included."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check, gradcheck, layouts

import mytorch


def batch_norm(training, affine=True):
    def fn(t, x, w, b, mean, var):
        mean, var = mean.detach().clone(), var.detach().abs() + 0.1
        out = t.nn.functional.batch_norm(
            x, mean, var, w if affine else None, b if affine else None, training, 0.3, 1e-4
        )
        return out, mean, var

    return fn


@settings(max_examples=20, deadline=None)
@given(
    batch=st.integers(2, 4),
    channels=st.integers(1, 4),
    rest=st.lists(st.integers(1, 4), max_size=2),
    training=st.booleans(),
    affine=st.booleans(),
    layout=layouts,
)
def test_batch_norm(batch, channels, rest, training, affine, layout):
    one = (channels,)
    check(batch_norm(training, affine), (batch, channels, *rest), one, one, one, one, layout=layout)


def test_batch_norm_without_running_statistics():
    check(lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True), (3, 2, 4, 4))


def test_batch_norm_needs_more_than_one_value():
    for lib in (torch, mytorch):
        with pytest.raises(ValueError, match="more than 1 value per channel"):
            lib.nn.functional.batch_norm(lib.ones(1, 3), None, None, training=True)


@settings(max_examples=20, deadline=None)
@given(
    outer=st.lists(st.integers(1, 4), min_size=1, max_size=2),
    inner=st.lists(st.integers(2, 5), min_size=1, max_size=2),
    affine=st.booleans(),
    layout=layouts,
)
def test_layer_norm(outer, inner, affine, layout):
    def fn(t, x, w, b):
        return t.nn.functional.layer_norm(x, inner, w if affine else None, b if affine else None)

    check(fn, (*outer, *inner), tuple(inner), tuple(inner), layout=layout)


def test_layer_norm_with_a_weight_or_a_bias_alone():
    check(lambda t, x, w: t.nn.functional.layer_norm(x, (5,), w), (3, 5), (5,))
    check(lambda t, x, b: t.nn.functional.layer_norm(x, (5,), None, b), (3, 5), (5,))


def test_layer_norm_refuses_another_shape():
    for lib in (torch, mytorch):
        with pytest.raises(RuntimeError, match="Given normalized_shape"):
            lib.nn.functional.layer_norm(lib.ones(3, 4), (5,))


@settings(max_examples=10, deadline=None)
@given(groups=st.integers(1, 3), each=st.integers(1, 3), side=st.integers(2, 3), layout=layouts)
def test_group_norm(groups, each, side, layout):
    channels = groups * each
    check(
        lambda t, x, w, b: t.nn.functional.group_norm(x, groups, w, b),
        (2, channels, side, side),
        (channels,),
        (channels,),
        layout=layout,
    )


@pytest.mark.parametrize("value", [0.0, 0.1, 1e4])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_zero_variance_gives_zeros_and_no_nan(value, kind):
    x = mytorch.from_numpy(np.full((64, 3, 5, 5), value, kind)).requires_grad_()
    for out in (
        mytorch.nn.functional.batch_norm(x, None, None, training=True),
        mytorch.nn.functional.layer_norm(x, (3, 5, 5)),
    ):
        np.testing.assert_allclose(out.detach().numpy(), 0, atol=1e-4)
        out.sum().backward()
        assert np.isfinite(x.grad.numpy()).all()


def test_a_large_mean_does_not_eat_the_variance():
    x = np.random.default_rng(0).standard_normal((64, 2, 8, 8)) + 300
    check(lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True), x, rtol=2e-4, atol=2e-3)


def test_numerical_gradients():
    def fn(x, w, b):
        return mytorch.nn.functional.batch_norm(x, None, None, w, b, training=True)

    gradcheck(fn, (3, 2, 2, 2), (2,), (2,))
    gradcheck(lambda x, w, b: mytorch.nn.functional.layer_norm(x, (4,), w, b), (3, 4), (4,), (4,))
