"""Dropout: what is kept is scaled, how much is kept, and the gradient passes where the value did."""

import numpy as np
import pytest
import torch
from oracle import check

import mytorch
from mytorch.nn import functional as F


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_share_and_scale(p):
    mytorch.manual_seed(0)
    x = mytorch.ones(200, 500, requires_grad=True)
    out = F.dropout(x, p)
    values = out.detach().numpy()
    assert set(np.unique(values)) == {np.float32(0), np.float32(1 / (1 - p))}
    assert abs((values == 0).mean() - p) < 0.01
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), values)


def test_whole_channels():
    mytorch.manual_seed(0)
    values = F.dropout2d(mytorch.ones(8, 16, 3, 3)).numpy()
    each = values.reshape(128, 9)
    assert (each == each[:, :1]).all()
    assert 0 < (each[:, 0] == 0).mean() < 1


def test_off_in_eval_and_at_zero():
    check(lambda t, x: t.nn.functional.dropout(x, 0.5, training=False), (3, 4))
    check(lambda t, x: t.nn.functional.dropout(x, 0.0), (3, 4))


def test_all_dropped_at_one():
    check(lambda t, x: t.nn.functional.dropout(x, 1.0), (3, 4))


def test_the_seed_decides():
    mytorch.manual_seed(5)
    first = F.dropout(mytorch.ones(50))
    mytorch.manual_seed(5)
    assert mytorch.equal(first, F.dropout(mytorch.ones(50)))


def test_in_place():
    x = mytorch.ones(4, 5) * 1
    assert F.dropout(x, 1.0, inplace=True) is x
    assert (x.numpy() == 0).all()


def test_probability_is_checked():
    for lib in (torch, mytorch):
        with pytest.raises(ValueError, match="between 0 and 1"):
            lib.nn.functional.dropout(lib.ones(2), 1.5)
