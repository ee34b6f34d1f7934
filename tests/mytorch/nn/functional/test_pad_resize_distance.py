"""pad, interpolate, normalize and cosine_similarity against torch."""

import numpy as np
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


@settings(max_examples=20, deadline=None)
@given(
    mode=st.sampled_from(["nearest", "bilinear"]),
    corners=st.booleans(),
    size=st.none() | st.tuples(st.integers(1, 8), st.integers(1, 8)),
    factor=st.sampled_from([0.5, 1.7, 2]),
    layout=layouts,
)
def test_interpolate(mode, corners, size, factor, layout):
    how = {"align_corners": corners} if mode == "bilinear" else {}
    how |= {"scale_factor": factor} if size is None else {"size": size}
    check(lambda t, x: t.nn.functional.interpolate(x, mode=mode, **how), (2, 2, 4, 5), layout=layout)


def test_interpolate_names_what_it_does_not_do():
    with pytest.raises(NotImplementedError, match="bicubic"):
        mytorch.nn.functional.interpolate(mytorch.ones(1, 1, 2, 2), size=4, mode="bicubic")
    for lib in (torch, mytorch):
        with pytest.raises(ValueError, match="only one of size or scale_factor"):
            lib.nn.functional.interpolate(lib.ones(1, 1, 2, 2), size=4, scale_factor=2)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_normalize(p, dim):
    check(lambda t, x: t.nn.functional.normalize(x, p, dim), (3, 4, 2))


def test_cosine_similarity():
    check(lambda t, a, b: t.nn.functional.cosine_similarity(a, b), (3, 4), (3, 4))
    check(lambda t, a, b: t.nn.functional.cosine_similarity(a, b, dim=-1), (3, 2, 4), (3, 2, 4))


def test_numerical_gradients():
    gradcheck(lambda x: mytorch.nn.functional.pad(x, (1, 2, 2, 1), "reflect"), (1, 1, 3, 3))
    gradcheck(lambda x: mytorch.nn.functional.interpolate(x, (5, 3), mode="bilinear"), (1, 1, 3, 4))
    gradcheck(lambda x: mytorch.nn.functional.normalize(x), np.array([[3.0, 4.0], [0.5, -1.0]]))


def test_unknown_functions_are_named():
    with pytest.raises(NotImplementedError, match=r"torch\.nn\.functional\.grid_sample"):
        _ = mytorch.nn.functional.grid_sample
    assert not hasattr(mytorch.nn.functional, "grid_sample")
