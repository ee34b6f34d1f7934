"""The shorter way of 3x3 convolutions: against torch, against the plain way, and taken only where it pays."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import check

from mytorch.nn.functional import conv, winograd
from mytorch.nn.functional.layout import Window

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


def test_as_the_plain_way_to_the_last_digits():
    rng = np.random.default_rng(0)
    x, w, g = rng.standard_normal((7, 8, 10, 2)), rng.standard_normal((5, 7, 3, 3)), rng.standard_normal((5, 6, 8, 2))
    cells = winograd.kernel(w)
    np.testing.assert_allclose(winograd.correlate(x, cells), conv.correlate(x, w, None, PLAIN, 1), atol=1e-12)
    np.testing.assert_allclose(
        winograd.correlate_input(g, cells), conv.correlate_input(g, w, PLAIN, 1, 8, 10)[:, 1:-1, 1:-1], atol=1e-12
    )
    np.testing.assert_allclose(
        winograd.correlate_weight(g, x), conv.correlate_weight(g, x, w.shape, PLAIN, 1), atol=1e-12
    )


def test_blocks_of_rows_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((3, 10, 8, 2)), rng.standard_normal((4, 8, 6, 2))
    cells = winograd.kernel(rng.standard_normal((4, 3, 3, 3)))
    whole = winograd.correlate(x, cells), winograd.correlate_weight(g, x)
    monkeypatch.setattr(winograd, "_BLOCK", 1)
    for one, other in zip(whole, (winograd.correlate(x, cells), winograd.correlate_weight(g, x))):
        np.testing.assert_allclose(one, other, atol=1e-12)


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
