"""interpolate against torch by size and by factor."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import agree, check, gradcheck, layouts

import mytorch


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
    for lib in (torch, mytorch):
        with pytest.raises(NotImplementedError, match="bicubic"):
            lib.nn.functional.interpolate(lib.ones(1, 1, 2), size=4, mode="bicubic")
    for lib in (torch, mytorch):
        with pytest.raises(ValueError, match="only one of size or scale_factor"):
            lib.nn.functional.interpolate(lib.ones(1, 1, 2, 2), size=4, scale_factor=2)


def test_numerical_gradients():
    gradcheck(lambda x: mytorch.nn.functional.interpolate(x, (5, 3), mode="bilinear"), (1, 1, 3, 4))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "area", "nearest"])
@pytest.mark.parametrize("options", [{}, {"align_corners": True}, {"antialias": True}])
@pytest.mark.parametrize("size", [(5, 7), (20, 17), (11, 31)])
def test_bytes(mode, options, size):
    x = np.random.default_rng(0).integers(0, 256, (2, 3, 11, 17)).astype(np.uint8)
    agree(lambda t: t.nn.functional.interpolate(t.from_numpy(x), size, mode=mode, **options))
