"""embedding and one_hot against torch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check, gradcheck, layouts, shapes

import mytorch


@settings(max_examples=15, deadline=None)
@given(shape=shapes(max_dims=3), padding=st.none() | st.integers(-5, 4), seed=st.integers(0, 1000), layout=layouts)
def test_embedding(shape, padding, seed, layout):
    index = np.asarray(np.random.default_rng(seed).integers(0, 5, shape))
    check(lambda t, i, w: t.nn.functional.embedding(i, w, padding), index, (5, 3), layout=layout)


def test_numerical_gradients():
    index = np.array([[0, 2], [2, 1]])
    gradcheck(lambda w: mytorch.nn.functional.embedding(mytorch.from_numpy(index), w), (3, 2))


@pytest.mark.parametrize("bad", [[3], [-1]])
def test_an_index_outside_the_table(bad):
    for lib in (torch, mytorch):
        with pytest.raises(IndexError, match="out of range"):
            lib.nn.functional.embedding(lib.tensor(bad), lib.ones(3, 2))


def test_one_hot():
    index = np.array([[0, 2], [1, 1]])
    check(lambda t, i: t.nn.functional.one_hot(i), index)
    check(lambda t, i: t.nn.functional.one_hot(i, 5), index)
    check(lambda t, i: t.nn.functional.one_hot(i), np.array(2))


@pytest.mark.parametrize(("index", "classes"), [([-1], 3), ([3], 3), ([0.5], 3)])
def test_one_hot_errors(index, classes):
    for lib in (torch, mytorch):
        with pytest.raises(RuntimeError):
            lib.nn.functional.one_hot(lib.tensor(index), classes)
