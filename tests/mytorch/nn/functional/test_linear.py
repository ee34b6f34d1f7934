"""linear against torch for any number of leading dimensions and any memory layout."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check, gradcheck, layouts, shapes

import mytorch


@settings(max_examples=20, deadline=None)
@given(lead=shapes(max_dims=3), ins=st.integers(1, 5), outs=st.integers(1, 5), bias=st.booleans(), layout=layouts)
def test_linear(lead, ins, outs, bias, layout):
    def fn(t, x, w, b):
        return t.nn.functional.linear(x, w, b if bias else None)

    check(fn, (*lead, ins), (outs, ins), (outs,), layout=layout)


def test_an_empty_batch():
    check(lambda t, x, w, b: t.nn.functional.linear(x, w, b), (0, 3), (4, 3), (4,))


@pytest.mark.parametrize(("ins", "outs"), [(0, 5), (4, 0)])
def test_no_inputs_or_no_outputs(ins, outs):
    check(lambda t, x, w, b: t.nn.functional.linear(x, w, b), (2, 3, ins), (outs, ins), (outs,))
    check(lambda t, x, w: x @ w, (2, 3, ins), (ins, outs))


def test_numerical_gradients():
    gradcheck(lambda x, w, b: mytorch.nn.functional.linear(x, w, b), (2, 3, 4), (5, 4), (5,))


def test_shapes_that_do_not_fit_are_named():
    for lib in (torch, mytorch):
        with pytest.raises(RuntimeError, match=r"cannot be multiplied \(2x3 and 4x5\)"):
            lib.nn.functional.linear(lib.ones(2, 3), lib.ones(5, 4))
