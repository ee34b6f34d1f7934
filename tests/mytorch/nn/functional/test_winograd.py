"""The shorter way of 3x3 convolutions: against torch, against the plain way, and taken only where it pays."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import check

import mytorch
from mytorch.nn.functional import conv, winograd
from mytorch.nn.functional.layout import Window, padded

PLAIN = Window((3, 3))


@pytest.mark.parametrize("padding", [0, 1, 2, (1, 2)])
@pytest.mark.parametrize(("batch", "size"), [(1, (4, 6)), (30, (4, 4)), (2, (5, 4)), (0, (4, 4))])
def test_as_torch(batch, size, padding):
    """Few tiles and many, odd sizes, an empty batch; values and gradients."""
    check(
        lambda t, x, w, b: t.nn.functional.conv2d(x, w, b, padding=padding),
        (batch, 100, *size),
        (101, 100, 3, 3),
        (101,),
        atol=2e-3,  # of sums of 900 products of numbers up to 4
        dtype="float32",
    )


@pytest.mark.parametrize("border", [(0, 0, 0, 0), (1, 1, 1, 1), (0, 2, 1, 3), (5, 5, 4, 0)])
@pytest.mark.parametrize("block", [1, 1 << 17])
def test_as_the_plain_way_to_the_last_digits(border, block, monkeypatch):
    """With all kinds of zeros around the image, and in blocks of one row."""
    monkeypatch.setattr(winograd, "_BLOCK", block)
    monkeypatch.setattr(winograd, "_TILES", block)
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((7, 8, 10, 2)), rng.standard_normal((5, 7, 3, 3))
    image, cells = padded(x, *border), winograd.kernel(w)
    out = conv.correlate(image, w, None, PLAIN, 1)
    np.testing.assert_allclose(winograd.correlate(x, cells, border), out, atol=1e-12)
    g = rng.standard_normal(out.shape)
    np.testing.assert_allclose(
        winograd.correlate_weight(g, x, border), conv.correlate_weight(g, image, w.shape, PLAIN, 1), atol=1e-11
    )
    whole = conv.correlate_input(g, w, PLAIN, 1, g.shape[1] + 2, g.shape[2] + 2)
    np.testing.assert_allclose(winograd.correlate_input(g, cells), whole[:, 1:-1, 1:-1], atol=1e-12)


@pytest.mark.parametrize("padding", [0, 1])
def test_an_input_changed_before_backward_is_noticed(padding):
    x = mytorch.randn(2, 40, 4, 4, requires_grad=True) * 1
    out = mytorch.nn.functional.conv2d(x, mytorch.randn(40, 40, 3, 3, requires_grad=True), padding=padding)
    again = mytorch.nn.functional.conv2d(out, mytorch.randn(40, 40, 3, 3, requires_grad=True), padding=1)
    out.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        again.sum().backward()


@pytest.mark.parametrize(
    ("shape", "window", "groups", "positions"),
    [
        ((128, 128, 5, 5), Window((5, 5)), 1, (4, 4)),
        ((128, 128, 3, 3), Window((3, 3), (2, 2)), 1, (4, 4)),
        ((128, 128, 3, 3), Window((3, 3), (1, 1), (2, 2)), 1, (4, 4)),
        ((128, 128, 3, 3), PLAIN, 2, (4, 4)),
        ((128, 128, 3, 3), PLAIN, 1, (4, 5)),
        ((128, 16, 3, 3), PLAIN, 1, (4, 4)),
    ],
)
def test_the_plain_way_is_taken_where_it_must_or_should_be(shape, window, groups, positions):
    weight = np.empty(shape, np.float32)
    assert not winograd.pays(weight, window, groups, positions)
    assert winograd.pays(np.empty((128, 128, 3, 3), np.float32), PLAIN, 1, (4, 4))
