"""Pooling against torch, with its ties, borders and rounding of sizes."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import agree, check, gradcheck, layouts

import mytorch

small = st.integers(1, 3)
pairs = st.tuples(small, small)
sizes = st.tuples(st.integers(4, 8), st.integers(4, 8))


@settings(max_examples=30, deadline=None)
@given(
    kernel=pairs,
    stride=st.none() | pairs,
    padding=st.tuples(st.integers(0, 1), st.integers(0, 1)),
    dilation=pairs,
    ceil=st.booleans(),
    size=sizes,
    layout=layouts,
)
def test_max_pool2d(kernel, stride, padding, dilation, ceil, size, layout):
    assume(all(2 * p <= k for p, k in zip(padding, kernel)))
    assume(all(d * (k - 1) + 1 <= n + 2 * p for d, k, n, p in zip(dilation, kernel, size, padding)))

    def fn(t, x):
        return t.nn.functional.max_pool2d(x, kernel, stride, padding, dilation, ceil, return_indices=True)

    check(fn, (2, 3, *size), layout=layout)


@settings(max_examples=30, deadline=None)
@given(
    kernel=pairs,
    stride=st.none() | pairs,
    padding=st.tuples(st.integers(0, 1), st.integers(0, 1)),
    ceil=st.booleans(),
    include=st.booleans(),
    divisor=st.none() | st.integers(1, 5),
    size=sizes,
    layout=layouts,
)
def test_avg_pool2d(kernel, stride, padding, ceil, include, divisor, size, layout):
    assume(all(2 * p <= k for p, k in zip(padding, kernel)))

    def fn(t, x):
        return t.nn.functional.avg_pool2d(x, kernel, stride, padding, ceil, include, divisor)

    check(fn, (2, 3, *size), layout=layout)


@settings(max_examples=15, deadline=None)
@given(size=sizes, out=st.tuples(st.integers(1, 9), st.integers(1, 9)), layout=layouts)
def test_adaptive_avg_pool2d(size, out, layout):
    check(lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, out), (2, 3, *size), layout=layout)


def test_adaptive_sizes_as_int_and_none():
    check(lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2), (2, 3, 5, 6))
    check(lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, (None, 3)), (2, 3, 5, 6))


def test_unbatched_images():
    check(lambda t, x: t.nn.functional.max_pool2d(x, 2, return_indices=True), (3, 6, 6))
    check(lambda t, x: t.nn.functional.avg_pool2d(x, 2), (3, 6, 6))
    check(lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2), (3, 6, 6))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), stride=st.integers(1, 3))
def test_of_equals_the_first_gets_the_gradient(seed, stride):
    x = np.random.default_rng(seed).integers(0, 2, (2, 2, 7, 6)).astype(float)
    check(lambda t, x: t.nn.functional.max_pool2d(x, 3, stride, 1), x)


def test_numerical_gradients():
    x = np.random.default_rng(0).permutation(2 * 5 * 4).reshape(1, 2, 5, 4) / 7.0  # no ties
    gradcheck(lambda x: mytorch.nn.functional.max_pool2d(x, 2, 1), x)
    gradcheck(lambda x: mytorch.nn.functional.avg_pool2d(x, 3, 2, 1), (1, 2, 5, 4))


@pytest.mark.parametrize(
    ("shape", "options"),
    [((1, 1, 4, 4), {"kernel_size": 2, "padding": 2}), ((1, 1, 2, 2), {"kernel_size": 5})],
)
def test_errors_are_torchs(shape, options):
    for lib in (torch, mytorch):
        for name in ("max_pool2d", "avg_pool2d"):
            with pytest.raises(RuntimeError):
                getattr(lib.nn.functional, name)(lib.ones(*shape), **options)


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "max_pool3d", "avg_pool3d", "adaptive_avg_pool2d"])
@pytest.mark.parametrize("kind", ["int64", "int32", "bool"])
def test_whole_numbers(name, kind):
    def fn(t):
        x = t.arange(-8, 41).reshape(1, 1, *((1, 7, 7) if "3d" in name else (7, 7))).to(getattr(t, kind))
        pool = getattr(t.nn.functional, name)
        if "adaptive" in name:
            return pool(x, 2)
        return [pool(x, (1, 3, 3)[-n:], padding=(0, 1, 1)[-n:]) for n in [3 if "3d" in name else 2]]

    agree(fn)
    agree(lambda t: t.nn.functional.avg_pool2d(t.arange(49).reshape(1, 7, 7), 7, divisor_override=3))
