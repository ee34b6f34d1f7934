"""Reductions and orderings against torch, over dims, keepdim and layouts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check, gradcheck, layouts, shapes

import mytorch

ANY_DIMS = ("sum", "mean", "var", "std", "amax", "amin", "logsumexp", "norm", "all", "any", "count_nonzero")
ONE_DIM = ("max", "min", "prod", "argmax", "argmin", "cumsum", "cumprod", "sort", "median")


@st.composite
def reductions(draw):
    shape = draw(shapes(min_dims=1, min_side=2))
    dims = draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, unique_by=lambda d: d % len(shape)))
    return shape, dims, draw(st.booleans())


def call(x, name, dim, keepdim):
    if name == "norm":
        return x.norm(2, dim=dim, keepdim=keepdim)
    if name in ("cumsum", "cumprod"):
        return getattr(x, name)(dim)
    if name == "sort":
        return x.sort(dim, descending=keepdim)
    if name == "count_nonzero":
        return x.count_nonzero(dim)
    return getattr(x, name)(dim=dim, keepdim=keepdim)


@pytest.mark.parametrize("name", ANY_DIMS)
@settings(max_examples=12, deadline=None)
@given(case=reductions(), layout=layouts, seed=st.integers(0, 99))
def test_over_any_dims(name, case, layout, seed):
    shape, dims, keepdim = case
    check(
        lambda t, a: (call(a, name, tuple(dims), keepdim), call(a, name, dims[0], keepdim)),
        shape,
        layout=layout,
        seed=seed,
    )


@pytest.mark.parametrize("name", ONE_DIM)
@settings(max_examples=12, deadline=None)
@given(case=reductions(), layout=layouts, seed=st.integers(0, 99))
def test_over_one_dim(name, case, layout, seed):
    shape, dims, keepdim = case
    check(lambda t, a: call(a, name, dims[0], keepdim), shape, layout=layout, seed=seed)


WHOLE = (
    "sum",
    "mean",
    "var",
    "std",
    "max",
    "min",
    "prod",
    "norm",
    "argmax",
    "argmin",
    "all",
    "any",
    "amax",
    "median",
)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 2), (5,)])
def test_over_everything(name, shape):
    check(lambda t, a: (getattr(a, name)(), getattr(t, name)(a)), shape)


def test_of_a_single_number():
    for name in ("sum", "mean", "max", "min", "prod", "argmax", "amax", "norm"):
        check(lambda t, a, name=name: getattr(a, name)(), ())
    check(lambda t, a: (a.sum(0), a.max(0), a.logsumexp(0), a.cumsum(0), a.mean(-1), a.sort()), ())


def test_options():
    check(
        lambda t, a: (a.var(1, unbiased=False), a.std(0, correction=0), a.var(False), t.var_mean(a, 1)),
        (3, 4),
    )
    check(lambda t, a: (t.std_mean(a, dim=0, keepdim=True), a.std(dim=(0, 1))), (3, 4))
    check(
        lambda t, a: (a.norm(1), a.norm(float("inf")), a.norm(3, dim=1), a.norm(p=0), a.norm(2, 0, True)),
        (3, 4),
    )
    check(
        lambda t, a: (t.sum(a, 0), t.mean(a, (0, 1)), t.max(a, a * 2), t.min(a, 1), a.sum(dtype=t.float64)),
        (3, 4),
    )
    check(lambda t, a: (a.softmax(1), t.softmax(a, -1), a.log_softmax(0), t.logsumexp(a, (0, 1))), (3, 4))
    check(
        lambda t, a: (a.topk(2), a.topk(2, 0, largest=False), t.argsort(a, descending=True), a.kthvalue(2)),
        (3, 4),
    )
    check(lambda t, a: (a.max(1).values, a.min(0).indices, a.sort().values, a.topk(1).indices), (3, 4))
    check(lambda t, a: (t.nansum(a), t.amin(a, (0, 1)), a.mean(dim=-1, keepdim=True)), (3, 4))


def test_products_with_zeros_have_their_gradient():
    check(lambda t, a: (a.prod(), a.prod(1)), np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 1.0]]))


def test_of_nothing():
    check(lambda t, a: (a.sum(), a.mean(), a.mean(1), a.mean(0), a.sum(0), a.prod()), (0, 3), grad=False)


def test_ties():
    x = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]])
    check(lambda t, a: (a.max(), a.amax(1), a.max(1), a.argmax(1)), x)
    check(lambda t, a: (a.sort(dim=1, stable=True), a.sort(dim=1, descending=True, stable=True)), x)


def test_no_nan_from_zero_deviation():
    check(lambda t, a: (a.var(0), a.std(0), a.norm(dim=0)), np.zeros((3, 2)))


def test_large_values_stay_finite():
    x = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]])
    check(lambda t, a: (a.softmax(1), a.log_softmax(1), a.logsumexp(1)), x)
    check(lambda t, a: a.logsumexp(0), np.array([-np.inf, -np.inf]), grad=False)


def test_integers_and_booleans():
    x = np.array([[1, 2, 0], [4, 4, 6]])
    check(lambda t, a: (a.sum(), a.sum(0), a.prod(1), a.max(1), a.cumsum(0), a.argmin(), a.float().mean()), x)
    check(lambda t, a: ((a > 1).sum(), (a > 1).sum(0), (a > 1).all(1), (a > 1).any(), a.unique()), x)
    check(
        lambda t, a: (
            t.unique(a, return_inverse=True, return_counts=True),
            a.bincount() if a.dim() == 1 else 0,
        ),
        x,
    )
    check(lambda t, a: (t.bincount(a), t.bincount(a, minlength=9), t.histc(a.float(), 3)), x.reshape(-1))
    check(
        lambda t, a: (t.searchsorted(a, 3), t.searchsorted(a, a, right=True), t.bucketize(a, a)),
        np.array([1, 3, 5]),
    )


def test_errors():
    x = mytorch.ones(2, 3)
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"):
        x.sum(2)
    with pytest.raises(RuntimeError, match=r"mean\(\): could not infer output dtype"):
        mytorch.arange(3).mean()
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        x.topk(4)


@pytest.mark.parametrize(
    "fn",
    [
        lambda a: a.sum(0) * a.mean(1, keepdim=True),
        lambda a: a.var(1) + a.std(1) + a.norm(dim=1),
        lambda a: a.logsumexp(1) + a.prod(1) + a.max(1).values,
        lambda a: a.cumsum(0) * a.cumprod(1),
        lambda a: a.softmax(1) + a.log_softmax(0),
    ],
)
def test_gradients_against_differences(fn):
    gradcheck(fn, (3, 3), low=0.5)


def test_the_median_of_all_shares_its_gradient_among_equals():
    for values in ([0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 2.0], [1.0, np.nan, np.nan]):
        check(lambda t, a: (t.median(a), t.nanmedian(a)), np.array(values))
    check(lambda t, a: a.median(), (3, 5))
