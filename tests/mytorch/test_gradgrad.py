"""Gradients of gradients: create_graph=True beside torch, and the three uses scripts have for it."""

import threading

import numpy as np
import pytest
import torch
from oracle import compare

import mytorch

BOTH = pytest.mark.parametrize("t", [torch, mytorch], ids=["torch", "mytorch"])


def twice(lib, fn, arrays, create=True):
    """Results, gradients and the gradients of a weighting of the gradients."""
    leaves = [lib.from_numpy(a.copy()).requires_grad_() for a in arrays]
    out = fn(lib, *leaves)
    weight = lib.from_numpy(np.asarray(np.random.default_rng(1).uniform(-1, 1, tuple(out.shape))))
    grads = lib.autograd.grad((out * weight).sum(), leaves, create_graph=True)
    total = sum((g * (i + 1) * g.detach().cos()).sum() for i, g in enumerate(grads))
    return [out, *grads], lib.autograd.grad(total, leaves, allow_unused=True)


def second(fn, *shapes, low=-2.0, high=2.0):
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(low, high, s) for s in shapes]
    ours, ours2 = twice(mytorch, fn, arrays)
    theirs, theirs2 = twice(torch, fn, arrays)
    compare(ours, theirs, 1e-8, 1e-8, "first")
    for a, b in zip(ours2, theirs2):
        assert (a is None) == (b is None)
        if b is not None:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-7, atol=1e-8)


F = "nn.functional"
CASES = {
    "arithmetic": (lambda t, a, b: (a * b + a / (b * b + 1) - b**3 + 2**a) * a[0], (3, 4), (3, 4)),
    "functions": (lambda t, a: a.exp() * a.sin() + a.tanh() * a.sigmoid() + (a * a + 1).log().sqrt(), (3, 4)),
    "matmul": (lambda t, a, b: (a @ b).tanh() @ b.T, (2, 3, 4), (4, 3)),
    "views in place": (lambda t, a: (a * 1).index_fill_(0, t.tensor([1]), 2.0)[1:].mul_(a[1:] * a[1:]), (3, 4)),
    "assignment": (lambda t, a: assigned(t, a), (3, 4)),
    "conv2d": (lambda t, x, w, b: t.nn.functional.conv2d(x, w, b, 2, 1).tanh(), (2, 3, 5, 5), (4, 3, 3, 3), (4,)),
    "grouped conv2d": (
        lambda t, x, w: t.nn.functional.conv2d(x, w, None, 1, "same", 1, 2) ** 2, (2, 4, 4, 4), (6, 2, 3, 3)),
    "conv_transpose2d": (
        lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, None, 2, 1, 1, 2).tanh(), (2, 4, 3, 3), (4, 2, 3, 3)),
    "batch_norm": (
        lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True).sin(), (4, 3, 2, 2), (3,), (3,)),
    "layer_norm": (lambda t, x, w, b: t.nn.functional.layer_norm(x, (4,), w, b).sin(), (3, 4), (4,), (4,)),
    "group_norm": (lambda t, x, w: t.nn.functional.group_norm(x, 2, w).sin(), (2, 4, 3), (4,)),
    "max_pool2d": (lambda t, x: t.nn.functional.max_pool2d(x.sin(), 2, 1), (2, 2, 4, 4)),
    "avg_pool2d": (lambda t, x: t.nn.functional.avg_pool2d(x.sin(), 3, 2, 1), (2, 2, 5, 5)),
    "cross_entropy": (lambda t, x: t.nn.functional.cross_entropy(x, t.tensor([0, 2, 1])), (3, 4)),
    "mse_loss": (lambda t, x, y: t.nn.functional.mse_loss(x * x, y), (3, 4), (3, 4)),
    "bce": (lambda t, x: t.nn.functional.binary_cross_entropy(x.sigmoid(), x.detach().sigmoid() * 0.5), (3, 4)),
    "bce with logits": (lambda t, x: t.nn.functional.binary_cross_entropy_with_logits(x, x.detach() * 0 + 0.3), (3, 4)),
    "gelu silu elu": (
        lambda t, x: sum(getattr(t.nn.functional, n)(x) for n in ("gelu", "silu", "elu", "softplus", "mish")), (3, 4)),
    "softmax": (lambda t, x: t.softmax(x, 0) * t.log_softmax(x, 1), (3, 4)),
    "attention": (
        lambda t, q, k, v: t.nn.functional.multi_head_attention_forward(
            q, k, v, 4, 2, t.ones(12, 4, dtype=t.float64) * q.mean(), None, None, None, False, 0.0,
            t.ones(4, 4, dtype=t.float64), None)[0],
        (3, 2, 4), (5, 2, 4), (5, 2, 4)),
    "embedding": (lambda t, w: t.nn.functional.embedding(t.tensor([[0, 2], [2, 1]]), w).sin(), (3, 4)),
    "lstm": (lambda t, x: lstm(t, x), (3, 2, 4)),
    "splits": (lambda t, a: sum(p * p * (i + 1) for i, p in enumerate(a.split(1))) + a.unbind(0)[1].exp(), (3, 4)),
    "cumprod over zeros": (lambda t, a: (a * t.tensor([1.0, 0.0, 2.0, 0.0])).cumprod(1) * a.cumprod(0), (3, 4)),
    "sort": (lambda t, a: a.sort(1)[0] * a.max(0)[0] * a.cumsum(0) * a.prod(0), (3, 4)),
}  # fmt: skip


def assigned(t, a):
    x = a * 1
    x[0] = a[1] * a[2]
    x[:, 1] += a[0, :3] ** 2
    return x.sin()


def lstm(t, x):
    t.manual_seed(0)
    layer = t.nn.LSTM(4, 3).double()
    with t.no_grad():
        for i, p in enumerate(layer.parameters()):
            p.copy_(t.sin(t.arange(p.numel(), dtype=t.float64) + i).reshape(p.shape))
    return layer(x)[0]


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives(name):
    second(*CASES[name])


@BOTH
def test_wgan_gradient_penalty(t):
    rng = np.random.default_rng(0)
    real, fake = (t.from_numpy(rng.standard_normal((4, 3, 8, 8))) for _ in range(2))
    critic = t.nn.Sequential(
        t.nn.Conv2d(3, 4, 3, 2, 1), t.nn.LeakyReLU(0.2), t.nn.Conv2d(4, 4, 3, 2, 1), t.nn.InstanceNorm2d(4, affine=True)
        if hasattr(t.nn, "InstanceNorm2d") else t.nn.GroupNorm(4, 4), t.nn.Flatten(), t.nn.Linear(16, 1),
    ).double()  # fmt: skip
    with t.no_grad():
        for i, p in enumerate(critic.parameters()):
            p.copy_(t.from_numpy(np.random.default_rng(i).standard_normal(tuple(p.shape)) * 0.3))
    mix = t.from_numpy(rng.random((4, 1, 1, 1)))
    between = (mix * real + (1 - mix) * fake).requires_grad_()
    scores = critic(between)
    (grad,) = t.autograd.grad(scores, between, t.ones_like(scores), create_graph=True, retain_graph=True)
    penalty = ((grad.flatten(1).norm(2, dim=1) - 1) ** 2).mean()
    penalty.backward()
    found = [penalty.item(), *[p.grad.abs().sum().item() if p.grad is not None else 0.0 for p in critic.parameters()]]
    expected.setdefault("wgan", found)
    np.testing.assert_allclose(found, expected["wgan"], rtol=1e-7, atol=1e-10)


expected: dict = {}  # what torch, which runs first, found


@BOTH
def test_maml_inner_step(t):
    w = t.tensor([[0.5, -0.3], [0.2, 0.7]], dtype=t.float64, requires_grad=True)
    x, y = t.tensor([[1.0, 2.0]], dtype=t.float64), t.tensor([[0.3, -0.4]], dtype=t.float64)
    fast = w
    for _ in range(3):
        loss = ((x @ fast).tanh() - y).pow(2).mean()
        (g,) = t.autograd.grad(loss, fast, create_graph=True)
        fast = fast - 0.4 * g
    outer = ((x * 2) @ fast).sin().sum()
    outer.backward()
    expected.setdefault("maml", w.grad.numpy())
    np.testing.assert_allclose(w.grad.numpy(), expected["maml"], rtol=1e-9)


@BOTH
def test_hessian_vector_product_and_third_derivative(t):
    x = t.tensor([0.3, -1.2, 2.0], dtype=t.float64, requires_grad=True)
    v = t.tensor([1.0, 0.5, -2.0], dtype=t.float64)
    y = (x.exp() * x.prod()).sum()
    (g,) = t.autograd.grad(y, x, create_graph=True)
    (hv,) = t.autograd.grad(g, x, v, create_graph=True)
    (third,) = t.autograd.grad(hv.sum(), x)
    found = np.stack([g.detach().numpy(), hv.detach().numpy(), third.numpy()])
    expected.setdefault("hessian", found)
    np.testing.assert_allclose(found, expected["hessian"], rtol=1e-9)


@BOTH
def test_backward_with_create_graph_leaves_a_gradient_with_a_history(t):
    x = t.tensor([2.0, 3.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    g = x.grad
    x.grad = None
    g.sum().backward()
    assert x.grad.tolist() == [12.0, 18.0]


@BOTH
def test_a_function_of_ones_own(t):
    class Cube(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x**3
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * 3 * y / x

    x = t.tensor([1.5], dtype=t.float64, requires_grad=True)
    (g,) = t.autograd.grad(Cube.apply(x), x, t.ones(1, dtype=t.float64), create_graph=True)
    (h,) = t.autograd.grad(g, x)
    assert h.item() == pytest.approx(9.0)


@BOTH
def test_a_function_with_two_results(t):
    class Both(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y, x + y

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return g * y + h, g * x + h

    x, y = (t.tensor([v], dtype=t.float64, requires_grad=True) for v in (2.0, 5.0))
    product, total = Both.apply(x, y)
    (product * total).sum().backward()
    assert (x.grad.item(), y.grad.item()) == (45.0, 24.0)


def test_what_cannot_be_differentiated_twice_says_so():
    x = mytorch.zeros(2, 1, 3, dtype=mytorch.float64, requires_grad=True)
    loss = mytorch.nn.functional.ctc_loss(x.log_softmax(2), mytorch.tensor([[1]]), [2], [1])
    with pytest.raises(NotImplementedError, match="does not differentiate CtcLossBackward0 twice"):
        mytorch.autograd.grad(loss, x, create_graph=True)


def test_four_threads_of_backward():
    """Grad mode is each thread's own, and gradients of one leaf are added one at a time."""
    w = mytorch.ones(1000, requires_grad=True)
    faults = []

    def work():
        try:
            for _ in range(500):
                with mytorch.no_grad():
                    assert not mytorch.is_grad_enabled()
                (w * 1.0).sum().backward()
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert w.grad.tolist() == [2000.0] * 1000


@BOTH
def test_gradcheck_and_gradgradcheck(t):
    def fine(a, b):
        return (a.sin() * b).sum(0), (a / (b * b + 1)).exp()

    class Wrong(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2.1 * x

    a, b = (t.tensor([[0.3, -1.0], [0.8, 0.1]], dtype=t.float64, requires_grad=True) for _ in range(2))
    assert t.autograd.gradcheck(fine, (a, b))
    assert t.autograd.gradgradcheck(fine, (a, b))
    assert not t.autograd.gradcheck(Wrong.apply, (a,), raise_exception=False)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        t.autograd.gradcheck(Wrong.apply, (a,))
