"""Corners where wrong numbers or NumPy's own errors came out, each beside torch."""

import numpy as np
import pytest
import torch
from oracle import agree, check

import mytorch

NAN = np.array([[1.0, np.nan, 3.0], [4.0, 0.0, 2.0]])
WHOLE = np.array([[7, -7, 5], [-5, 0, 9]])


@pytest.mark.parametrize(
    "fn",
    [
        lambda t, a: t.nn.functional.cosine_similarity(a[:, None], a[None], dim=-1),
        lambda t, a: (*t.var_mean(a, True), *t.std_mean(a, False), *t.var_mean(a, 1, keepdim=True)),
        lambda t, a: t.take_along_dim(a, t.tensor([[0], [2], [-1]]), 1),
        lambda t, a: t.take_along_dim(a, t.tensor([[0, 1]]), 1),
        lambda t, a: [t.nn.functional.pad(a[None], p, mode="circular") for p in ((-1, 2), (1, -1), (0, 0), (-1, -1))],
        lambda t, a: t.cumprod(a.sum(), 0),
        lambda t, a: (a * (a > 0)).cumprod(0),
        lambda t, a: [t.diff(a, 2, 0, a[:1], a[1:]), a.diff(prepend=a), t.diff(a, 0)],
        lambda t, a: [t.cdist(a, a * 2, 3.0, compute_mode=m) for m in ("donot_use_mm_for_euclid_dist",)],
        lambda t, a: t.cov(a, fweights=t.tensor([1, 2, 3, 1]), aweights=t.tensor([0.5, 1.0, 2.0, 1.0], dtype=a.dtype)),
        lambda t, a: [t.quantile(a, 0.4, 1, interpolation=m) for m in ("lower", "higher", "nearest", "midpoint")],
        lambda t, a: t.quantile(a, t.tensor([0.1, 0.9], dtype=a.dtype), 0, keepdim=True),
        lambda t, a: t.searchsorted(a.detach().sort(1)[0], a.detach(), out_int32=True),
        lambda t, a: [t.nn.functional.interpolate(a[None], size=7, mode=m) for m in ("linear", "nearest", "area")],
        lambda t, a: t.nn.functional.interpolate(a[None, None], size=(5, 2), mode="bicubic", antialias=True),
        lambda t, a: t.nn.functional.interpolate(a[None, None, None], scale_factor=2, mode="trilinear"),
    ],
)  # fmt: skip
def test_numbers(fn):
    check(fn, (3, 4))


@pytest.mark.parametrize(
    "fn",
    [
        lambda t, a: (t.median(a), *t.median(a, 1), *t.nanmedian(a, 1), t.nanmedian(a)),
        lambda t, a: (a.nansum(), a.nanmean(1), a.nan_to_num(), t.nanquantile(a, 0.5, 1)),
        lambda t, a: t.nn.functional.kl_div(a.nan_to_num(), a.nan_to_num() - 2, reduction="none"),
        lambda t, a: (t.fmax(a, a.flip(0)), t.maximum(a, a.flip(0))),
    ],
)
def test_nan_and_negative_numbers(fn):
    check(fn, NAN)


@pytest.mark.parametrize(
    "fn",
    [
        lambda a: a // 0,
        lambda a: a % 0,
        lambda a: a // (a * 0),
        lambda a: a.remainder(a * 0),
        lambda a: a.fmod(0),
        lambda a: a.div(a * 0, rounding_mode="trunc"),
    ],
)
def test_whole_numbers_divided_by_zero(fn):
    for lib in (torch, mytorch):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            fn(lib.from_numpy(WHOLE.copy()))


def test_division_of_whole_numbers():
    check(
        lambda t, a: [a // 2, a % -3, a.div(-2, rounding_mode="trunc"), a.fmod(4), a.float() // 0, a.float() % 0], WHOLE
    )


def test_requires_grad_of_a_result_cannot_be_taken_back():
    for lib in (torch, mytorch):
        y = lib.ones(2, requires_grad=True) * 2
        with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
            y.requires_grad = False
        with pytest.raises(RuntimeError, match="can require gradients"):
            lib.ones(2, dtype=lib.int64).requires_grad = True
        assert y.requires_grad_() is y


def test_changes_through_data_are_not_counted():
    for lib in (torch, mytorch):
        a = lib.ones(2, requires_grad=True)
        y = (a * 1).exp()
        y.data.add_(1.0)
        y.sum().backward()
        assert a.grad.tolist() == pytest.approx([3.7182817] * 2)


EMPTY = {
    "softmax": lambda t, e, z: (t.softmax(e, 0), t.softmax(z, 0), t.log_softmax(z, 0)),
    "nonzero": lambda t, e, z: (t.nonzero(z), t.nonzero(e), z.nonzero(as_tuple=True)),
    "all any": lambda t, e, z: (t.all(e), t.any(e), t.all(z, 0), t.any(z, -1), t.all(e, 1)),
    "gather": lambda t, e, z: (z.gather(0, t.tensor(0)), e.gather(1, t.zeros(0, 2, dtype=t.int64))),
    "index_select": lambda t, e, z: (z.index_select(0, t.tensor([0])), e.index_select(1, t.tensor([2, 0]))),
    "scatter": lambda t, e, z: z.scatter(0, t.tensor(0), z * 2),
    "kthvalue": lambda t, e, z: [*z.kthvalue(1), *z.sort(), *z.median(0), *z.mode(0), *z.cummax(0)],
    "matmul": lambda t, e, z: (e.T @ e, e @ e.T, e.sum(), t.einsum("ij,ij->", e, e)),
    "tensordot": lambda t, e, z: (t.tensordot(e, e, ([0], [0])), t.tensordot(z, z, 0)),
    "batch norm": lambda t, e, z: t.nn.functional.batch_norm(e, None, None, t.ones(3, dtype=e.dtype), training=True),
    "sums": lambda t, e, z: (e.mean(0), e.prod(), e.cumsum(0), e.logsumexp(0), z.cumprod(0), e.norm(dim=1)),
    "shapes": lambda t, e, z: (e.repeat(2, 2), e.flip(0), t.cat([e, e]), z.unsqueeze(0), e.split(2, 1)[0], z.flatten()),
    "layers": lambda t, e, z: (t.nn.functional.layer_norm(e, (3,)), t.nn.functional.relu(e), t.nn.functional.gelu(z)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_and_single_numbers(name):
    check(EMPTY[name], np.zeros((0, 3)), np.array(0.7))


def test_fft_and_complex_numbers():
    check(lambda t, a: t.view_as_real(t.fft.fft(a)), (3, 5))
    check(lambda t, a: t.fft.irfft(t.fft.rfft(a) * (1 + 2j)), (3, 6))
    check(lambda t, a: (t.fft.fftn(a).abs(), t.fft.fft2(a, norm="ortho").real, t.fft.fftshift(a)), (3, 4))
    check(lambda t, a: t.view_as_real(t.polar(a.exp(), a * 2) * t.complex(a, -a).conj()), (3,))
    assert mytorch.tensor([1 + 2j]).dtype == mytorch.complex64
    assert mytorch.complex64.is_complex


def test_short_time_fourier_transforms():
    def fn(t, a):
        window = t.hann_window(8, dtype=a.dtype)
        spectrum = t.stft(a, 8, 2, window=window, return_complex=True)
        return t.istft(spectrum, 8, 2, window=window), t.view_as_real(spectrum)

    check(fn, (2, 30))
    names = ("hamming_window", "kaiser_window", "blackman_window", "bartlett_window")
    check(lambda t, a: [getattr(t, name)(6, False, dtype=t.float64) for name in names], ())


def test_no_grad_around_a_generator():
    for lib in (torch, mytorch):

        @lib.no_grad()
        def steps(lib=lib):
            for _ in range(2):
                yield lib.is_grad_enabled()

        assert [(inside, lib.is_grad_enabled()) for inside in steps()] == [(False, True)] * 2


def test_activations_in_place():
    names = ("relu_", "elu_", "celu_", "selu_", "leaky_relu_", "hardtanh_")
    check(lambda t, a: [getattr(t.nn.functional, name)(a * 1) for name in names], (3, 4))
    check(lambda t, a: t.nn.functional.threshold_(a * 1, 0.5, 2.0), (3, 4))


def test_complex_gradients_are_right_or_refused():
    """A product's gradient is by the conjugate; where a formula does not conjugate, nothing wrong comes out."""
    z, w = np.array([1 + 2j, -0.5 + 1j]), np.array([0.3 - 1j, 2 + 0.1j])
    grads = []
    for lib in (torch, mytorch):
        a, b = (lib.tensor(x, requires_grad=True) for x in (z, w))
        (a * b).abs().sum().backward()
        grads.append((a.grad.numpy(), b.grad.numpy()))
    for theirs, ours in zip(*grads):
        np.testing.assert_allclose(ours, theirs)
    x = mytorch.tensor(z, requires_grad=True)
    with pytest.raises(NotImplementedError, match="for complex numbers; use the real and imaginary parts"):
        (x**3).abs().sum().backward()


@pytest.mark.parametrize(
    "operation",
    [
        *("cos", "cosh", "exp", "log", "reciprocal", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "square", "tanh"),
        *(lambda lib, x: x @ x.t(), lambda lib, x: lib.einsum("ij,kj,ij->ik", x, x, x)),
        lambda lib, x: lib.nn.functional.linear(x, x, x[:, 0]),
        lambda lib, x: x[0] / x,
    ],
)
def test_gradients_of_analytic_functions(operation):
    z = np.random.default_rng(0).normal(size=(2, 3, 2)) @ np.array([1, 1j])
    results = []
    for lib in (mytorch, torch):
        x = lib.tensor(z, requires_grad=True)
        out = getattr(lib, operation)(x) if isinstance(operation, str) else operation(lib, x)
        (first,) = lib.autograd.grad((out * out.conj()).real.sum(), x, create_graph=True)
        first.real.sum().backward()
        results.append((out.detach(), first.detach(), x.grad))
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-8)


@pytest.mark.parametrize(
    "fn",
    [
        lambda t: t.tensor(2.5).flip(0),
        lambda t: t.zeros(0).chunk(3),
        lambda t: t.zeros(0, 3).chunk(2, 1),
        lambda t: t.tensor(2.5).chunk(2),
        lambda t: t.tensor(2.5).split(2),
        lambda t: t.zeros(2, 0).max(1),
        lambda t: t.zeros(0).min(0, keepdim=True),
        lambda t: t.zeros(2, 0).max(0),
        *(lambda t, n=n: getattr(t.tensor(2.5), n)(dim=1) for n in ("sort", "argsort", "argmax", "count_nonzero")),
        lambda t: t.nanmean(t.tensor([1, 2])),
        lambda t: t.cosine_similarity(t.ones(2, 3).long(), t.ones(3)),
        lambda t: t.cosine_similarity(t.ones(2, 3).long(), t.ones(3).long()),
        lambda t: t.cdist(t.ones(2, 3), t.ones(4, 3), compute_mode="quickly"),
        lambda t: t.quantile(t.arange(6.0), t.tensor([0.1, 0.5, 0.9]), interpolation="nearest"),
        lambda t: t.index_add(t.zeros(3), 0, t.tensor([0]), t.ones(2)),
        lambda t: t.index_fill(t.zeros(3), 0, t.tensor([[0]]), 1),
    ],
)  # fmt: skip
def test_scalars_empty_tensors_and_kinds_of_errors(fn):
    agree(fn)


def _set_grad(t, value):
    leaf = t.ones(2, requires_grad=True)
    leaf.grad = value(t, leaf)
    return leaf.grad


def _deleted_grad(t):
    leaf = t.ones(2, requires_grad=True)
    leaf.grad = t.ones(2)
    del leaf.grad
    return leaf.grad


def _custom(t, grads, *more):
    methods = {"forward": staticmethod(lambda ctx, x, *_: x * 2), "backward": staticmethod(lambda ctx, g: grads(g))}
    made = type("Custom", (t.autograd.Function,), methods)
    x = t.ones(2, requires_grad=True)
    made.apply(x, *more).sum().backward()
    return x.grad


def _attention(t, queries, keys, **options):
    t.manual_seed(0)
    layer = t.nn.MultiheadAttention(4, 2, **options)
    return [tuple(r.shape) for r in layer(t.ones(*queries), t.ones(*keys), t.ones(*keys))]


@pytest.mark.parametrize(
    "fn",
    [
        lambda t: _set_grad(t, lambda t, leaf: t.ones(3)),
        lambda t: _set_grad(t, lambda t, leaf: t.ones(2).double()),
        lambda t: _set_grad(t, lambda t, leaf: 1),
        lambda t: _set_grad(t, lambda t, leaf: leaf),
        lambda t: _set_grad(t, lambda t, leaf: t.ones(2)),
        _deleted_grad,
        *(lambda t, s=s: s * t.tensor(2) for s in ([0], (1, 2), "ab", b"ab")),
        lambda t: [0] * t.tensor([2, 3]),
        lambda t: t.tensor([1, -1, 2, 0, -1, -1]) ** t.tensor([-1, -1, -1, -1, -2, 3]),
        lambda t: 2 ** t.tensor([-1, 3]),
        lambda t: t.tensor([2]) ** -1,
        *(lambda t, x=x: t.where(t.tensor(x) > 0) for x in (2.0, -2.0)),
        lambda t: _attention(t, (0, 3, 4), (2, 3, 4)),
        lambda t: _attention(t, (2, 3, 4), (0, 3, 4)),
        lambda t: _attention(t, (0, 3, 4), (0, 3, 4), batch_first=True),
        lambda t: t.unique(t.tensor(3), dim=0),
        lambda t: t.index_select(t.zeros(2, 0), 1, t.tensor([0])),
        *(
            lambda t, w=w, m=m: t.nn.functional.pad(t.ones(1, 1, 5), w, mode=m)
            for w in ((-5, 0), (-6, 0), (-3, 2))
            for m in ("circular", "reflect", "replicate")
        ),
        lambda t: _custom(t, lambda g: (g, g)),
        lambda t: _custom(t, lambda g: (g, g), 3),
        lambda t: _custom(t, lambda g: (g, None)),
    ],
)
def test_assigned_gradients_repeated_lists_and_nothing(fn):
    agree(fn)
