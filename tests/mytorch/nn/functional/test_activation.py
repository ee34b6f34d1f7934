"""Activations against torch: values, slopes, in-place forms and very large inputs."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check, gradcheck, layouts, shapes

import mytorch

CALLS = {
    "relu": lambda F, x: F.relu(x),
    "relu6": lambda F, x: F.relu6(x),
    "hardtanh": lambda F, x: F.hardtanh(x, -0.5, 1.5),
    "leaky_relu": lambda F, x: F.leaky_relu(x, 0.2),
    "elu": lambda F, x: F.elu(x, 0.7),
    "gelu": lambda F, x: F.gelu(x),
    "gelu tanh": lambda F, x: F.gelu(x, approximate="tanh"),
    "silu": lambda F, x: F.silu(x),
    "softplus": lambda F, x: F.softplus(x, 2.0, 5.0),
    "sigmoid": lambda F, x: F.sigmoid(x),
    "tanh": lambda F, x: F.tanh(x),
    "logsigmoid": lambda F, x: F.logsigmoid(x),
    "softmax": lambda F, x: F.softmax(x, -1),
    "log_softmax": lambda F, x: F.log_softmax(x, -1),
}
every = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@every
def test_values_and_gradients(call):
    @settings(max_examples=6, deadline=None)
    @given(shape=shapes(min_dims=1, max_dims=3), layout=layouts, seed=st.integers(0, 1000))
    def run(shape, layout, seed):
        check(lambda t, x: call(t.nn.functional, x), shape, low=-9, high=9, layout=layout, seed=seed)

    run()


@every
def test_huge_inputs_are_safe(call):
    x = np.array([[-1e4, 1e4, 0.0], [-300.0, -1e4, 30.0]])
    check(lambda t, x: call(t.nn.functional, x), x)


@every
def test_numerical_gradients(call):
    gradcheck(lambda x: call(mytorch.nn.functional, x), (2, 3), seed=3)


@pytest.mark.parametrize("name", ["relu", "relu6", "hardtanh", "leaky_relu", "elu", "silu"])
def test_in_place(name):
    def fn(t, x):
        y = x * 2
        z = getattr(t.nn.functional, name)(y, inplace=True)
        assert z is y
        return y * 3

    check(fn, (3, 4))


def test_in_place_on_a_leaf_is_refused():
    for lib in (torch, mytorch):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            lib.nn.functional.relu(lib.ones(2, requires_grad=True), inplace=True)


@pytest.mark.parametrize("dim", [0, 1, 2, -1, None])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.filterwarnings("ignore:Implicit dimension")
def test_softmax_along_any_dimension(name, dim):
    check(lambda t, x: getattr(t.nn.functional, name)(x, dim), (2, 3, 4))


def test_softmax_in_another_dtype():
    check(lambda t, x: t.nn.functional.softmax(x, 0, dtype=t.float64), (3, 4), dtype="float32")


def test_gelu_names_its_two_forms():
    for lib in (torch, mytorch):
        with pytest.raises(RuntimeError, match="none or tanh"):
            lib.nn.functional.gelu(lib.ones(2), approximate="erf")
