"""pad against torch in every mode, growing and cropping."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check, gradcheck, layouts

import mytorch


@settings(max_examples=20, deadline=None)
@given(
    mode=st.sampled_from(["constant", "reflect", "replicate", "circular"]),
    amounts=st.tuples(*[st.integers(0, 2)] * 4),
    layout=layouts,
)
def test_pad_images(mode, amounts, layout):
    check(lambda t, x: t.nn.functional.pad(x, amounts, mode), (2, 3, 3, 4), layout=layout)


@settings(max_examples=15, deadline=None)
@given(
    dims=st.integers(1, 3),
    amounts=st.lists(st.integers(-1, 2), min_size=6, max_size=6),
    value=st.sampled_from([None, 0.0, 2.5]),
)
def test_constant_pad_grows_and_crops_any_dimension(dims, amounts, value):
    check(lambda t, x: t.nn.functional.pad(x, amounts[: 2 * dims], value=value), (3, 4, 3))


def test_pad_errors():
    for lib in (torch, mytorch):
        x = lib.ones(1, 1, 3, 3)
        with pytest.raises(RuntimeError):
            lib.nn.functional.pad(x, (3, 0, 0, 0), "reflect")
        with pytest.raises(RuntimeError):
            lib.nn.functional.pad(x, (1, 0, 0))
        with pytest.raises(NotImplementedError):
            lib.nn.functional.pad(x, (1, 0, 0, 0), "mirror")


def test_numerical_gradients():
    gradcheck(lambda x: mytorch.nn.functional.pad(x, (1, 2, 2, 1), "reflect"), (1, 1, 3, 3))
