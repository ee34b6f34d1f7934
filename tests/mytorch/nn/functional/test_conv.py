"""conv2d and conv_transpose2d against torch over strides, paddings, dilations, groups and memory layouts."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import check, gradcheck, layouts

import mytorch
from mytorch.nn.functional import conv

small = st.integers(1, 3)
pairs = st.tuples(small, small)


@settings(max_examples=25, deadline=None)
@given(
    batch=small,
    groups=small,
    ins=small,
    outs=small,
    kernel=pairs,
    stride=pairs,
    padding=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    dilation=pairs,
    size=st.tuples(st.integers(4, 8), st.integers(4, 8)),
    bias=st.booleans(),
    layout=layouts,
)
def test_conv2d(batch, groups, ins, outs, kernel, stride, padding, dilation, size, bias, layout):
    assume(all(d * (k - 1) + 1 <= n + 2 * p for d, k, n, p in zip(dilation, kernel, size, padding)))

    def fn(t, x, w, b):
        return t.nn.functional.conv2d(x, w, b if bias else None, stride, padding, dilation, groups)

    check(fn, (batch, ins * groups, *size), (outs * groups, ins, *kernel), (outs * groups,), layout=layout)


@settings(max_examples=25, deadline=None)
@given(
    batch=small,
    groups=small,
    ins=small,
    outs=small,
    kernel=pairs,
    stride=pairs,
    padding=st.tuples(st.integers(0, 1), st.integers(0, 1)),
    extra=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    dilation=pairs,
    size=st.tuples(st.integers(2, 5), st.integers(2, 5)),
    layout=layouts,
)
def test_conv_transpose2d(batch, groups, ins, outs, kernel, stride, padding, extra, dilation, size, layout):
    assume(all(e < max(s, d) for e, s, d in zip(extra, stride, dilation)))
    spans = zip(size, stride, padding, dilation, kernel, extra)
    assume(all((n - 1) * s - 2 * p + d * (k - 1) + e + 1 > 0 for n, s, p, d, k, e in spans))

    def fn(t, x, w, b):
        return t.nn.functional.conv_transpose2d(x, w, b, stride, padding, extra, groups, dilation)

    check(fn, (batch, ins * groups, *size), (ins * groups, outs, *kernel), (outs * groups,), layout=layout)


@pytest.mark.filterwarnings("ignore:Using padding=.same.")
@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("kernel", [(3, 3), (2, 4), (1, 1)])
@pytest.mark.parametrize("dilation", [1, 2])
def test_named_padding(padding, kernel, dilation):
    check(lambda t, x, w: t.nn.functional.conv2d(x, w, None, 1, padding, dilation), (2, 3, 8, 9), (4, 3, *kernel))


def test_unbatched_images():
    check(lambda t, x, w: t.nn.functional.conv2d(x, w, padding=1), (3, 5, 6), (4, 3, 3, 3))
    check(lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, stride=2), (3, 5, 6), (3, 4, 3, 3))


def test_an_empty_batch():
    check(lambda t, x, w, b: t.nn.functional.conv2d(x, w, b, padding=1), (0, 3, 5, 6), (4, 3, 3, 3), (4,))


def test_several_blocks_of_rows_give_the_same(monkeypatch):
    monkeypatch.setattr(conv, "_BLOCK", 100)
    check(lambda t, x, w, b: t.nn.functional.conv2d(x, w, b, 2, 1), (2, 3, 9, 8), (4, 3, 3, 3), (4,))
    check(lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, None, 2, 1), (2, 3, 5, 4), (3, 2, 3, 3))


def test_only_wanted_gradients_are_made():
    x = mytorch.ones(1, 2, 4, 4)
    w = mytorch.ones(3, 2, 3, 3, requires_grad=True)
    mytorch.nn.functional.conv2d(x, w).sum().backward()
    assert x.grad is None
    assert w.grad.shape == w.shape


def test_changing_the_weight_before_backward_is_refused():
    x = mytorch.ones(1, 1, 4, 4, requires_grad=True)
    w = mytorch.ones(1, 1, 3, 3)
    out = mytorch.nn.functional.conv2d(x, w)
    w.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((1, 3, 8, 8), (4, 2, 3, 3), {}),
        ((1, 3, 2, 2), (4, 3, 5, 5), {}),
        ((1, 3, 8, 8), (4, 3, 3, 3), {"padding": "same", "stride": 2}),
        ((1, 3, 8, 8), (4, 3, 3, 3), {"padding": "wide"}),
        ((1, 4, 8, 8), (3, 2, 3, 3), {"groups": 2}),
        ((8, 8), (3, 2, 3, 3), {}),
    ],
)
def test_errors_are_torchs(x, w, options):
    for lib in (torch, mytorch):
        with pytest.raises(RuntimeError):
            lib.nn.functional.conv2d(lib.ones(*x), lib.ones(*w), **options)


def test_numerical_gradients():
    def fn(x, w, b):
        return mytorch.nn.functional.conv2d(x, w, b, stride=2, padding=1)

    gradcheck(fn, (2, 2, 5, 4), (3, 2, 3, 3), (3,))
    gradcheck(lambda x, w: mytorch.nn.functional.conv_transpose2d(x, w, stride=2), (1, 2, 3, 2), (2, 3, 2, 2))


def test_images_leave_as_nchw_whatever_the_memory():
    x = mytorch.from_numpy(np.random.default_rng(0).standard_normal((2, 3, 6, 6)))
    out = mytorch.nn.functional.conv2d(x, mytorch.ones(4, 3, 3, 3, dtype=mytorch.float64))
    assert out.shape == (2, 4, 4, 4)
    same = torch.nn.functional.conv2d(torch.from_numpy(x.numpy()), torch.ones(4, 3, 3, 3).double())
    np.testing.assert_allclose(out.reshape(-1).numpy(), same.reshape(-1).numpy(), rtol=1e-12)
    np.testing.assert_allclose(out.view(8, 16).numpy(), same.view(8, 16).numpy(), rtol=1e-12)
