"""Images move to batch-last memory and back unchanged, small and large, from any strides."""

import numpy as np
import pytest

from mytorch.nn.functional import layout


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("shape", [(19, 3, 4, 5), (8, 2), (3, 4, 2)])
def test_there_and_back(monkeypatch, large, shape):
    monkeypatch.setattr(layout, "_LARGE", 0 if large else 1 << 30)
    x = np.arange(np.prod(shape)).reshape(shape)
    for way in (x, np.asfortranarray(x), x[::-1], x[:, ::-1]):
        moved = layout.batch_last(way)
        assert moved.flags.c_contiguous
        assert moved.shape == (*shape[1:], shape[0])
        np.testing.assert_array_equal(layout.batch_first(moved), way)


def test_memory_that_lies_so_is_not_copied():
    x = np.zeros((2, 3, 4, 5)).transpose(3, 0, 1, 2)
    assert np.shares_memory(layout.batch_last(x), x)


def test_pairs():
    assert layout.pair(3) == layout.pair((3, 3)) == layout.pair([3]) == (3, 3)
    with pytest.raises(RuntimeError, match="2 ints"):
        layout.pair((1, 2, 3))


def test_a_border():
    x = np.ones((1, 2, 2, 1))
    framed = layout.padded(x, 1, 0, 0, 2, value=5)[0, :, :, 0]
    np.testing.assert_array_equal(framed, [[5, 5, 5, 5], [1, 1, 5, 5], [1, 1, 5, 5]])
    assert layout.padded(x, 0, 0, 0, 0) is x
