"""Losses against torch: reductions, weights, ignored classes, smoothing, spatial targets, huge logits."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import agree, check, gradcheck

import mytorch

reductions = st.sampled_from(["mean", "sum", "none"])


@settings(max_examples=40, deadline=None)
@given(
    batch=st.none() | st.integers(1, 4),
    classes=st.integers(2, 5),
    spatial=st.lists(st.integers(1, 3), max_size=2),
    weighted=st.booleans(),
    ignoring=st.booleans(),
    smoothing=st.sampled_from([0.0, 0.1, 1.0]),
    reduction=reductions,
    seed=st.integers(0, 1000),
)
def test_cross_entropy_of_classes(batch, classes, spatial, weighted, ignoring, smoothing, reduction, seed):
    rng = np.random.default_rng(seed)
    spatial = [] if batch is None else spatial
    lead = () if batch is None else (batch,)
    target = np.asarray(rng.integers(0, classes, (*lead, *spatial)))
    weight = rng.uniform(0.5, 2.0, classes)
    ignore = 1 if ignoring else -100
    if ignoring and target.size:
        target.reshape(-1)[0] = 0  # at least one counts

    def fn(t, x, y, w):
        return t.nn.functional.cross_entropy(
            x,
            y,
            w.detach() if weighted else None,
            ignore_index=ignore,
            reduction=reduction,
            label_smoothing=smoothing,
        )

    check(fn, (*lead, classes, *spatial), target, weight)


@settings(max_examples=20, deadline=None)
@given(
    shape=st.sampled_from([(4,), (3, 4), (2, 4, 3), (2, 4, 2, 3)]),
    weighted=st.booleans(),
    smoothing=st.sampled_from([0.0, 0.2]),
    reduction=reductions,
)
def test_cross_entropy_of_probabilities(shape, weighted, smoothing, reduction):
    def fn(t, x, p, w):
        weight = w.detach() if weighted else None
        target = t.softmax(p, 0 if len(shape) == 1 else 1)
        return t.nn.functional.cross_entropy(x, target, weight, reduction=reduction, label_smoothing=smoothing)

    check(fn, shape, shape, np.array([0.5, 1.0, 2.0, 1.5]))


@settings(max_examples=20, deadline=None)
@given(
    shape=st.sampled_from([(4,), (3, 4), (2, 4, 3)]),
    weighted=st.booleans(),
    reduction=reductions,
    seed=st.integers(0, 1000),
)
def test_nll_loss(shape, weighted, reduction, seed):
    target = np.asarray(np.random.default_rng(seed).integers(0, 4, shape[:-1] if len(shape) < 3 else (2, 3)))

    def fn(t, x, y, w):
        weight = w.detach() if weighted else None
        return t.nn.functional.nll_loss(x, y, weight, ignore_index=3, reduction=reduction)

    if (target != 3).any():
        check(fn, shape, target, np.array([0.5, 1.0, 2.0, 1.5]))


def test_when_every_target_is_ignored_the_mean_is_nan():
    y = np.array([-100, -100])
    check(lambda t, x, y: t.nn.functional.cross_entropy(x, y), (2, 3), y)
    check(lambda t, x, y: t.nn.functional.cross_entropy(x, y, reduction="sum"), (2, 3), y)


def test_huge_logits_are_safe():
    x = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, 1e4]])
    check(lambda t, x, y: t.nn.functional.cross_entropy(x, y, reduction="sum"), x, np.array([1, 2]))
    check(lambda t, x, y: t.nn.functional.cross_entropy(x, y, label_smoothing=0.1), x, np.array([1, 2]))
    target = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.5]])
    check(lambda t, x, y: t.nn.functional.binary_cross_entropy_with_logits(x, y.detach()), x, target)


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(["mse_loss", "l1_loss", "smooth_l1_loss"]),
    shape=st.sampled_from([(5,), (3, 4), (2, 3, 2)]),
    reduction=reductions,
)
def test_distances(name, shape, reduction):
    check(lambda t, a, b: getattr(t.nn.functional, name)(a, b, reduction=reduction), shape, shape)


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_distances_broadcast():
    check(lambda t, a, b: t.nn.functional.mse_loss(a, b), (3, 4), (4,))
    check(lambda t, a, b: t.nn.functional.l1_loss(a, b, reduction="sum"), (3, 4), (3, 1))


@pytest.mark.parametrize("beta", [0.0, 0.3, 2.0])
def test_smooth_l1_loss_beta(beta):
    check(lambda t, a, b: t.nn.functional.smooth_l1_loss(a, b, beta=beta), (3, 4), (3, 4))


@settings(max_examples=15, deadline=None)
@given(weighted=st.booleans(), positive=st.booleans(), reduction=reductions)
def test_binary_cross_entropy_with_logits(weighted, positive, reduction):
    def fn(t, x, y, w, p):
        weight, pos_weight = w.detach() if weighted else None, p.detach() if positive else None
        return t.nn.functional.binary_cross_entropy_with_logits(
            x, t.sigmoid(y), weight, reduction=reduction, pos_weight=pos_weight
        )

    check(fn, (3, 4), (3, 4), np.array([0.5, 1.0, 2.0, 1.5]), np.array([3.0, 1.0, 0.2, 1.5]))


@settings(max_examples=10, deadline=None)
@given(weighted=st.booleans(), reduction=reductions)
def test_binary_cross_entropy(weighted, reduction):
    def fn(t, p, y, w):
        weight = w.detach() if weighted else None
        return t.nn.functional.binary_cross_entropy(p, y.detach(), weight, reduction=reduction)

    check(fn, (3, 4), (3, 4), np.array([0.5, 1.0, 2.0, 1.5]), low=0.01, high=0.99)


def test_binary_cross_entropy_at_its_ends():
    p, y = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0, 0.0])
    check(lambda t, p, y: t.nn.functional.binary_cross_entropy(p, y, reduction="none"), p, y, grad=False)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none", "batchmean"])
@pytest.mark.parametrize("log_target", [False, True])
@pytest.mark.filterwarnings("ignore:reduction")
def test_kl_div(reduction, log_target):
    def fn(t, x, y):
        target = t.log_softmax(y, 1) if log_target else t.softmax(y, 1)
        logs = t.log_softmax(x, 1)
        return t.nn.functional.kl_div(logs, target, reduction=reduction, log_target=log_target)

    check(fn, (3, 4), (3, 4))


def test_kl_div_of_a_certain_target():
    y = np.array([[1.0, 0.0, 0.0]])
    check(lambda t, x, y: t.nn.functional.kl_div(x, y.detach(), reduction="sum"), (1, 3), y)


def test_errors_are_torchs():
    cases = [
        (ValueError, lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0]))),
        (IndexError, lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 3]))),
        (RuntimeError, lambda t: t.nn.functional.cross_entropy(t.ones(1, 3, 2), t.tensor([[0, 1, 1]]))),
        (RuntimeError, lambda t: t.nn.functional.cross_entropy(t.ones(1, 3), t.tensor([0]), label_smoothing=2.0)),
        (ValueError, lambda t: t.nn.functional.mse_loss(t.ones(2), t.ones(2), reduction="average")),
        (ValueError, lambda t: t.nn.functional.binary_cross_entropy(t.ones(2), t.ones(3))),
        (RuntimeError, lambda t: t.nn.functional.binary_cross_entropy(t.ones(2) * 2, t.ones(2))),
        (ValueError, lambda t: t.nn.functional.binary_cross_entropy_with_logits(t.ones(2), t.ones(3))),
    ]
    for kind, call in cases:
        for lib in (torch, mytorch):
            with pytest.raises(kind):
                call(lib)


def test_numerical_gradients():
    y = np.array([1, 0, 2])
    gradcheck(lambda x, y: mytorch.nn.functional.cross_entropy(x, y), (3, 4), y)
    gradcheck(lambda x, y: mytorch.nn.functional.cross_entropy(x, y, label_smoothing=0.2), (3, 4), y)
    gradcheck(lambda a, b: mytorch.nn.functional.mse_loss(a, b), (3, 4), (3, 4))


def test_mse_of_nothing_and_of_whole_numbers():
    agree(lambda t: t.nn.functional.mse_loss(t.zeros(0), t.zeros(0)))
    agree(lambda t: t.nn.functional.mse_loss(t.ones(2), t.arange(2)))
