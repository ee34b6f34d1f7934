"""The engine: order, accumulation, hooks, errors, and the modes."""

import pytest
import torch
from oracle import check, gradcheck

import mytorch
from mytorch import autograd


def test_ten_thousand_chained_operations():
    x = mytorch.ones(1, requires_grad=True)
    y = x
    for _ in range(10_000):
        y = y + 1
    y.backward()
    assert y.item() == 10_001
    assert x.grad.item() == 1


def test_a_wide_graph_visits_every_node_once():
    """2^60 paths lead through 60 doublings; each node must be run once."""
    x = mytorch.ones(1, dtype=mytorch.float64, requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**60


def test_gradients_accumulate_over_calls():
    check(lambda t, a: [(a * 2).sum().backward(), (a * a).sum()][1], (3,))
    x = mytorch.ones(2, requires_grad=True)
    for expected in (2.0, 4.0):
        (x * 2).sum().backward()
        assert x.grad.tolist() == [expected] * 2
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_gradient_argument():
    def seeded(t, a):
        (a * a).backward(t.ones_like(a) * 3)
        return a.grad.detach()

    check(seeded, (2, 3))
    x = mytorch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[2\]\)"):
        (x * 2).backward(mytorch.ones(2))
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        mytorch.ones(1).backward()


def test_changing_a_saved_tensor_in_place_is_an_error():
    for spoil in (
        lambda y: y.add_(1),
        lambda y: y.__setitem__(0, 5.0),
        lambda y: y.zero_(),
        lambda y: y[0].mul_(2),
    ):
        x = mytorch.ones(3, requires_grad=True)
        y = x * 2
        z = (y * y).sum()
        spoil(y)
        with pytest.raises(
            RuntimeError, match="one of the variables needed for gradient computation has been modified"
        ):
            z.backward()


def test_changing_a_saved_result_in_place_is_an_error():
    for name in ("exp", "tanh", "sigmoid", "sqrt", "relu"):
        x = mytorch.ones(3, requires_grad=True)
        y = getattr(x, name)()
        z = y.sum()
        y.detach().add_(1)
        with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[3\]\] is at version 1; expected version 0"):
            z.backward()


def test_changing_a_weight_between_forward_and_backward_is_an_error():
    w = mytorch.ones(2, 2, requires_grad=True)
    x = mytorch.ones(3, 2, requires_grad=True)
    loss = (x @ w).sum()
    with mytorch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_changing_what_backward_does_not_read_is_fine():
    def changed(t, a):
        y = a * 2
        z = y + 1
        y.mul_(3)
        return z, y

    check(changed, (3,))


def test_leaves_are_not_changed_in_place():
    x = mytorch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x[0] = 1.0
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used"):
        x[0].mul_(2)
    with mytorch.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0, 2.0, 2.0]


def test_modes():
    x = mytorch.ones(2, requires_grad=True)
    with mytorch.no_grad():
        assert not (x * 2).requires_grad
        with mytorch.enable_grad():
            assert (x * 2).requires_grad
        assert not mytorch.is_grad_enabled()
    with mytorch.inference_mode():
        assert not (x * 2).requires_grad
    with mytorch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert mytorch.is_grad_enabled()
    mytorch.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    mytorch.set_grad_enabled(True)

    @mytorch.no_grad()
    def called():
        return x * 2

    @mytorch.no_grad
    def bare():
        return x * 2

    assert not called().requires_grad
    assert not bare().requires_grad
    with pytest.raises(ZeroDivisionError), mytorch.no_grad():
        raise ZeroDivisionError
    assert (x * 2).requires_grad


def test_grad_function_leaves_grad_alone():
    def both(t, a, b):
        y = (a * b).sum() + a.exp().sum()
        return t.autograd.grad(y, (a, b), retain_graph=True), t.autograd.grad([y], [a * 1, b][1:])

    check(both, (3,), (3,))
    a, b = mytorch.ones(2, requires_grad=True), mytorch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        autograd.grad((a * 2).sum(), b)
    assert autograd.grad((a * 2).sum(), [b], allow_unused=True) == (None,)
    middle = a * 3
    (got,) = autograd.grad((middle * middle).sum(), middle)
    assert got.tolist() == [6.0, 6.0]
    assert a.grad is None


def test_inputs_argument_limits_backward():
    a, b = mytorch.ones(2, requires_grad=True), mytorch.ones(2, requires_grad=True)
    (a * b).sum().backward(inputs=[a])
    assert a.grad is not None
    assert b.grad is None


def test_hooks_and_retained_gradients():
    def hooked(t, a):
        seen = []
        y = a * 2
        y.retain_grad()
        y.register_hook(lambda g: g * 10)
        handle = a.register_hook(lambda g: g * 100)
        handle.remove()
        a.register_hook(lambda g: seen.append(g.clone()))
        (y * 3).sum().backward()
        return y.grad.detach(), seen, a.grad.detach().clone()

    check(hooked, (3,))
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        mytorch.ones(1).register_hook(print)


def test_a_function_of_ones_own():
    def cube_in(t):
        class Cube(t.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.save_for_backward(x)
                ctx.factor = factor
                return x * x * x * factor

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * 3 * x * x * ctx.factor, None

        return Cube

    check(lambda t, a: cube_in(t).apply(a * 2, 4.0), (3,))
    gradcheck(lambda a: cube_in(mytorch).apply(a, 2.0), (3,))
    x = mytorch.ones(2, requires_grad=True)
    y = x * 1
    z = cube_in(mytorch).apply(y, 1.0)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_straight_through_with_detach():
    check(lambda t, a: a + (a.round() - a).detach(), (4,))


def test_same_graph_as_torch_for_a_small_network():
    def network(t, x, w1, b1, w2, b2):
        h = (x @ w1 + b1).relu()
        scores = h @ w2 + b2
        return (scores.logsumexp(1) - scores[:, 0]).mean() + 1e-3 * (w1.norm() + (w2 * w2).sum())

    check(network, (5, 4), (4, 8), (8,), (8, 3), (3,))


def test_only_floats_require_gradients():
    for lib in (torch, mytorch):
        with pytest.raises(RuntimeError, match="floating point"):
            lib.arange(3).requires_grad_()
    x = mytorch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        (x * 2).requires_grad_(False)
    assert not (x > 0).requires_grad
    assert not x.argmax().requires_grad


@pytest.mark.parametrize("t", [mytorch, torch])
def test_a_function_that_changes_its_input(t):
    class Increase(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = t.ones(2, requires_grad=True)
    changed = x * 2
    assert Increase.apply(changed) is changed
    (changed * changed).sum().backward()
    assert x.grad.tolist() == [36.0, 36.0]  # 2 · 3 beside it, 3 · 2 through it
    part = x * 2
    Increase.apply(part[:1])
    x.grad = None
    part.sum().backward()
    assert x.grad.tolist() == [6.0, 2.0]
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        Increase.apply(x)


@pytest.mark.parametrize("t", [mytorch, torch])
@pytest.mark.parametrize("materialize", [True, False])
def test_the_gradient_of_a_result_that_has_none(t, materialize):
    given = []

    class Largest(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            value, index = x.max(0)
            ctx.mark_non_differentiable(index)
            return value, index

        @staticmethod
        def backward(ctx, g, g_index):
            given.append(g_index)
            return t.stack([g, g])

    Largest.apply(t.ones(2, requires_grad=True))[0].backward()
    assert given[0].tolist() == 0 if materialize else given == [None]


@pytest.mark.parametrize("t", [mytorch, torch])
@pytest.mark.parametrize("recorded", [False, True])
def test_a_hook_after_accumulation_steps_within_backward(t, recorded):
    x, y = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    optimizer = t.optim.SGD([x], lr=0.5)
    seen = []

    def step(leaf):
        seen.append((leaf is x, leaf.grad.tolist()))
        optimizer.step()
        optimizer.zero_grad()

    handle = x.register_post_accumulate_grad_hook(step)
    (x * y * 3).sum().backward(create_graph=recorded)
    assert seen == [(True, [3.0, 3.0])]
    assert x.grad is None
    assert x.tolist() == [-0.5, -0.5]
    t.autograd.grad((x * 2).sum(), x)  # nothing is accumulated
    handle.remove()
    (x * 2).sum().backward()
    assert len(seen) == 1
    with pytest.raises(RuntimeError, match="non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(step)


@pytest.mark.parametrize("t", [mytorch, torch])
def test_new_data_between_forward_and_backward(t):
    """As in spectral normalisation by hand, which gives its vectors new data in every forward pass."""
    w = t.arange(1.0, 7).reshape(3, 2).requires_grad_()
    u = t.nn.Parameter(t.ones(3), requires_grad=False)
    v = t.nn.Parameter(t.ones(2), requires_grad=False)
    total = 0
    for _ in range(2):
        v.data = t.mv(w.data.t(), u.data) / 10
        u.data = t.mv(w.data, v.data) / 10
        total = total + u.dot(w.mv(v))
    total.backward()
    assert w.grad.sum().item() == pytest.approx(2 * (u.sum() * v.sum()).item())  # both passes read the newest
    x = t.ones(2, requires_grad=True)
    old = x.data
    x.data = t.zeros(2)
    y = (x * x).sum()
    old.add_(1)
    y.backward()
    assert x.grad.tolist() == [0, 0]
