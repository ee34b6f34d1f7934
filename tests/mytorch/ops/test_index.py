"""Indexing, gathering and scattering against torch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check, layouts

import mytorch

CASES = {
    "ints": lambda t, a: (a[0], a[-1, 2], a[1, 2, 3], a[0][1]),
    "slices": lambda t, a: (a[:1], a[:, 1:], a[..., ::2], a[1:1], a[:, -2:, 1:3], a[()]),
    "none": lambda t, a: (a[None], a[:, None], a[..., None], a[0, None, 1]),
    "lists": lambda t, a: (a[[0, 0, 1]], a[:, [2, 0]], a[[0, 1], [1, 2]], a[[0, 1], :, [1, 1]]),
    "tensors": lambda t, a: (
        a[t.tensor([1, 0, 1])],
        a[:, t.tensor([[0, 1], [1, 1]])],
        a[t.tensor(1)],
        a[t.tensor(1), 0],
    ),
    "mixed": lambda t, a: (a[t.tensor([0, 1]), 1:], a[None, t.tensor([0, 1]), ..., 0], a[..., t.tensor([3, -1])]),
    "arrays around nothing": lambda t, a: (a[:, [0, 1], ..., [1, 2]], a[None, a[:, 0, 0] < 9, ..., [0], 1]),
    "masks": lambda t, a: (a[a > 0], a[a.sum((1, 2)) > -9], a[:, a[0, :, 0] < 9, 1]),
    "select": lambda t, a: (
        a.index_select(1, t.tensor([2, 0, 0])),
        t.take(a, t.tensor([0, 5])),
        a.masked_select(a > 0),
    ),
    "gather": lambda t, a: (a.gather(2, t.zeros(2, 3, 2).long()), t.gather(a, 0, t.ones(1, 2, 4, dtype=t.int64))),
    "index_add": lambda t, a: (
        t.index_add(a, 1, t.tensor([0, 0]), a[:, 1:], alpha=2),
        a.index_fill(0, t.tensor([1]), 3.0),
    ),
    "index_copy": lambda t, a: a.index_copy(0, t.tensor([1]), a[:1] * 2),
    "scatter": lambda t, a: (
        a.scatter(1, t.tensor([[[0, 2]], [[1, 0]]]), a[:, 2:, :2] * 2),
        a.scatter(2, t.tensor([[[1]]]), 5.0),
    ),
    "scatter_add": lambda t, a: a.scatter_add(1, t.tensor([[[0, 0]], [[1, 0]]]), a[:, 1:2, :2] * 3),
    "masked_scatter": lambda t, a: a.masked_scatter(a > 0, a * 3),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("layout", ["plain", "transposed", "sliced"])
def test_against_torch(name, layout):
    check(CASES[name], (2, 3, 4), layout=layout)


@st.composite
def index_of_3d(draw):
    """Any mixture of ints, slices, None, an ellipsis and up to two lists."""
    part = st.one_of(
        st.integers(-2, 1),
        st.builds(
            slice,
            st.none() | st.integers(-2, 2),
            st.none() | st.integers(-2, 3),
            st.sampled_from([None, 1, 2]),
        ),
        st.just(None),
    )
    key = draw(st.lists(part, max_size=3))
    length = draw(st.integers(1, 3))
    for _ in range(draw(st.integers(0, 2))):
        chosen = draw(st.lists(st.integers(-2, 1), min_size=length, max_size=length))
        key.insert(draw(st.integers(0, len(key))), chosen)
    while sum(k is not None for k in key) > 3:
        key.pop()
    if draw(st.booleans()):
        key.insert(draw(st.integers(0, len(key))), ...)
    return tuple(key)


@settings(max_examples=40, deadline=None)
@given(key=index_of_3d(), layout=layouts)
def test_any_index(key, layout):
    check(lambda t, a: a[key], (2, 3, 2), layout=layout, dtype="float64")


@settings(max_examples=40, deadline=None)
@given(key=index_of_3d(), as_tensor=st.booleans())
def test_assignment_to_any_index(key, as_tensor):
    def assigned(t, a, b):
        x = a * 1
        x[key] = b.sum() if as_tensor else 2.5
        return x * a

    check(assigned, (2, 3, 2), (3,), dtype="float64")


def test_assignment():
    def assigned(t, a, b):
        x = a * 1
        x[0] = b
        x[:, 1] += b[0]
        x[x > 1] = 0.5
        x[t.tensor([1]), 2] = b[:3].sum()
        x[1:, :2] *= 2
        x[..., -1] = x[..., 0] * 3
        return x

    check(assigned, (2, 3, 4), (4,))


def test_filling_a_plain_tensor_row_by_row():
    def filled(t, a):
        out = t.zeros(3, 4, dtype=a.dtype)
        for i in range(3):
            out[i] = a[i] * (i + 1)
        return out

    check(filled, (3, 4))


def test_in_place_forms():
    def changed(t, a):
        x = t.zeros(3, 5, dtype=a.dtype)
        x.scatter_(1, t.tensor([[0], [2], [4]]), 1.0)
        x.scatter_add_(1, t.tensor([[0, 0], [2, 2], [4, 4]]), a[:, :2])
        x.index_add_(0, t.tensor([0, 2]), a[:2] * 2)
        x.index_fill_(1, t.tensor([3]), 7.0)
        return x

    check(changed, (3, 5))


def test_found_places():
    x = np.array([[0, 1, 2], [3, 0, 0]])
    check(lambda t, a: (a.nonzero(), t.nonzero(a, as_tuple=True), t.where(a > 0), t.argwhere(a)), x)
    check(lambda t, a: (a[a > 1], 3 in a, 9 in a, t.isin(a, t.tensor([1, 3]))), x)


def test_errors():
    x = mytorch.ones(2, 3)
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 2"):
        x[5]
    with pytest.raises(ValueError, match="step must be greater than zero"):
        x[::-1]
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 2"):
        x[0, 0, 0]
    with pytest.raises(IndexError, match=r"The shape of the mask \[3\] at index 0 does not match"):
        x[mytorch.ones(3) > 0]
    with pytest.raises(IndexError, match="tensors used as indices must be long"):
        x[mytorch.ones(2)]
    with pytest.raises(RuntimeError, match="shape mismatch: value tensor of shape"):
        x[0] = mytorch.ones(2)
    with pytest.raises(RuntimeError, match="index 3 is out of bounds for dimension 1 with size 3"):
        x.gather(1, mytorch.tensor([[3]]))
