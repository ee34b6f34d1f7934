"""Shapes, views, splitting and joining against torch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check, layouts, shapes

import mytorch

CASES = {
    "reshape": lambda t, a: (a.reshape(6, 4), a.reshape((4, -1)), t.reshape(a, (-1,)), a.reshape(2, 3, 4)),
    "view": lambda t, a: (a.contiguous().view(6, 4), a.contiguous().view(-1), a.contiguous().view_as(a)),
    "flatten": lambda t, a: (
        a.flatten(),
        a.flatten(1),
        t.flatten(a, 0, 1),
        a.ravel(),
        a.unflatten(2, (2, 2)),
    ),
    "transpose": lambda t, a: (
        a.transpose(0, 2),
        t.transpose(a, 1, -1),
        a.swapaxes(0, 1),
        a[0].t(),
        a[0].T,
        a.mT,
    ),
    "permute": lambda t, a: (
        a.permute(2, 0, 1),
        t.permute(a, (1, 0, 2)),
        a.movedim(0, 2),
        t.movedim(a, (0, 1), (2, 0)),
    ),
    "squeeze": lambda t, a: (
        a[:1].squeeze(),
        a[:1].squeeze(0),
        a.squeeze(1),
        a.unsqueeze(0),
        a.unsqueeze(-1),
        a[None],
    ),
    "expand": lambda t, a: (
        a[:1].expand(5, -1, -1),
        a.expand(2, 2, 3, 4),
        a[0].expand_as(a),
        t.broadcast_to(a[0], (2, 3, 4)),
    ),
    "cat": lambda t, a: (t.cat([a, a * 2]), t.cat((a, a[:, :1]), dim=1), t.concat([a, a], -1)),
    "stack": lambda t, a: (t.stack([a, a * 2]), t.stack((a, a), dim=-1), t.stack([a, a], 1)),
    "split": lambda t, a: (a.split(2, dim=2), t.split(a, [1, 2], 1), a.split(3, -1)),
    "chunk": lambda t, a: (
        a.chunk(2),
        a.chunk(3, 2),
        t.chunk(a, 2, dim=-1),
        t.tensor_split(a, 2, 2),
        a.tensor_split((1,), 1),
    ),
    "unbind": lambda t, a: (a.unbind(), t.unbind(a, 2), list(a), a.unbind(-1)[1:]),
    "repeat": lambda t, a: (a.repeat(2, 1, 3), a.repeat(2, 1, 1, 1), t.tile(a, (2,)), a.tile(2, 1, 1)),
    "repeat_interleave": lambda t, a: (
        a.repeat_interleave(2),
        a.repeat_interleave(3, dim=1),
        t.repeat_interleave(a, 2, 0),
    ),
    "flip": lambda t, a: (a.flip(0), t.flip(a, (0, 2)), a.flip(-1), t.fliplr(a), t.flipud(a)),
    "roll": lambda t, a: (a.roll(1), t.roll(a, 2, 2), t.roll(a, (1, -1), (0, 1)), t.rot90(a, 1, (1, 2))),
    "triangles": lambda t, a: (a.tril(), t.triu(a), a.tril(-1), a.triu(1), t.diag(a[0]), t.diag(a[0, 0], 1)),
    "diagonal": lambda t, a: (a.diagonal(), a.diagonal(1, 1, 2), t.diagonal(a, -1, 0, 1), a[0].trace()),
    "unfold": lambda t, a: (a.unfold(2, 2, 1), a.unfold(1, 3, 2), a.unfold(2, 2, 2)),
    "narrow": lambda t, a: (a.narrow(1, 1, 2), t.narrow(a, 0, 0, 1), a.select(1, 2), t.select(a, 0, -1)),
    "stacks": lambda t, a: (
        t.hstack((a, a)),
        t.vstack([a, a]),
        t.hstack([a[0, 0], a[0, 1]]),
        t.vstack((a[0, 0], a[0, 1])),
    ),
    "meshgrid": lambda t, a: (
        t.meshgrid(a[0, 0], a[0, 1], indexing="ij"),
        t.meshgrid([a[0, 0], a[0, 1]], indexing="xy"),
    ),
    "broadcast": lambda t, a: t.broadcast_tensors(a, a[0], a[0, 0]),
    "clone": lambda t, a: (a.clone(), a.contiguous(), t.clone(a) * 2, a.detach() * a),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("layout", ["plain", "transposed", "sliced"])
def test_against_torch(name, layout):
    check(CASES[name], (2, 3, 4), layout=layout)


@settings(max_examples=25, deadline=None)
@given(shape=shapes(min_dims=1), layout=layouts, data=st.data())
def test_any_order_and_shape(shape, layout, data):
    order = data.draw(st.permutations(range(len(shape))))
    check(lambda t, a: (a.permute(order).reshape(-1), a.permute(*order).flatten() * 2), shape, layout=layout)


def test_views_share_memory_and_versions():
    x = mytorch.zeros(2, 3)
    for v in (
        x.view(3, 2),
        x.T,
        x[0],
        x.unsqueeze(0),
        x.permute(1, 0),
        x.detach(),
        x.split(1)[0],
        x.expand(2, 3),
    ):
        before = x._version[0]
        v.detach().fill_(before + 1.0) if v._array.flags.writeable else x.fill_(before + 1.0)
        assert x[0, 0].item() == before + 1.0
        assert v._version[0] == x._version[0] == before + 1
    copy = x.T.reshape(-1)
    copy.zero_()
    assert x[0, 0].item() != 0


def test_one_gradient_array_for_all_pieces():
    x = mytorch.ones(4, 2, requires_grad=True)
    parts = x.unbind()
    loss = (parts[0] * 2 + parts[2] * 3 + parts[0] * 4).sum()
    loss.backward(retain_graph=True)
    assert x.grad.tolist() == [[6.0, 6.0], [0.0, 0.0], [3.0, 3.0], [0.0, 0.0]]
    loss.backward()
    assert x.grad.tolist() == [[12.0, 12.0], [0.0, 0.0], [6.0, 6.0], [0.0, 0.0]]


def test_pieces_after_a_backward_that_was_stopped_between_them():
    x = mytorch.ones(2, 2, requires_grad=True)
    first, second = x.unbind()

    def stop(g):
        raise KeyboardInterrupt

    handle = first.register_hook(stop)
    loss = (first * 3 + second * 5).sum()
    with pytest.raises(KeyboardInterrupt):
        loss.backward(retain_graph=True)
    handle.remove()
    loss.backward()
    assert x.grad.tolist() == [[3.0, 3.0], [5.0, 5.0]]


def test_joining_mixed_dtypes():
    check(lambda t, a, b: (t.cat([a, b]), t.stack([b, a])), (3,), np.arange(3))


def test_errors():
    x = mytorch.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"shape '\[4, 2\]' is invalid for input of size 6"):
        x.reshape(4, 2)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        x.T.view(6)
    with pytest.raises(RuntimeError, match=r"Sizes of tensors must match except in dimension 0"):
        mytorch.cat([x, mytorch.ones(2, 2)])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        mytorch.stack([x, mytorch.ones(2, 2)])
    with pytest.raises(RuntimeError, match=r"The expanded size of the tensor \(4\) must match the existing size \(3\)"):
        x.expand(2, 4)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.transpose(0, 2)
    with pytest.raises(RuntimeError, match="split_with_sizes expects split_sizes to sum exactly to 3"):
        x.split([1, 1], 1)
