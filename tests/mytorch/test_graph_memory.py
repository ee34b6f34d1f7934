"""Who holds which array: gradients of leaves are theirs alone, and a graph goes when it was used or dropped."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import mytorch
from mytorch import autograd


def test_the_gradients_of_two_leaves_never_share_memory():
    a, b = (mytorch.ones(3, requires_grad=True) for _ in range(2))
    seed = mytorch.ones(3)
    (a + b).backward(seed)
    a.grad.mul_(5)
    assert b.grad.tolist() == [1.0, 1.0, 1.0]
    b.grad.zero_()
    assert seed.tolist() == [1.0, 1.0, 1.0]
    c = mytorch.ones(2, 2, requires_grad=True)
    (a.sum() + c.T.reshape(-1)[:3] @ b).backward()
    c.grad.fill_(9)
    assert a.grad.tolist() == [6.0, 6.0, 6.0]


def test_a_gradient_nobody_else_holds_is_not_copied():
    made = []

    def backward(g):
        made.append(np.full(1000, 2.0, np.float32))
        pointer = made[0].ctypes.data
        array = made.pop()
        made.append(pointer)
        return (array,)

    x = mytorch.ones(1000, requires_grad=True)
    autograd.record(x.numpy(force=True).sum(), (x,), backward).backward()
    assert x.grad.data_ptr() == made[0]


def test_second_backward_needs_retain_graph():
    x = mytorch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_the_graph_is_freed_by_backward():
    x = mytorch.ones(1000, requires_grad=True)
    saved = mytorch.ones(1000)
    alive = weakref.ref(saved)
    y = (x * saved).sum()
    del saved
    assert alive() is not None, "backward will read it"
    node = weakref.ref(y._node.edges[0])
    assert node() is not None
    y.backward()
    assert node() is None, "backward lets go of the graph below, though the result is still here"
    assert alive() is None, "and of what it read"


def test_a_graph_that_is_dropped_leaves_no_cycle():
    gc.collect()
    gc.disable()
    try:
        x = mytorch.ones(3, requires_grad=True)
        y = ((x * 2).exp() + x[0]).split(1)[0].sum()
        node = weakref.ref(y._node)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_memory_does_not_grow_with_steps():
    w = mytorch.ones(100, 100, requires_grad=True)

    def step():
        w.grad = None
        ((w @ w).relu().mean() + w.std()).backward()
        with mytorch.no_grad():
            w.sub_(w.grad, alpha=0.01)

    for _ in range(5):
        step()
    tracemalloc.start()
    step()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(50):
        step()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # Other threads of this process may allocate meanwhile; one gradient kept per step would be 2,000,000.
    assert grown < 400_000, f"{grown} bytes more after 50 steps; one gradient has 40,000"


def test_a_long_chain_can_be_dropped():
    """Freeing must not recurse from node to node either."""
    y = mytorch.ones(1, requires_grad=True)
    for _ in range(30_000):
        y = y * 1.0
    del y
