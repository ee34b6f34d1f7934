"""No operation without a comparison: second names and in-place forms."""

import numpy as np
import pytest
import torch
from oracle import check

import mytorch

SAME = {
    "absolute": "abs", "arccos": "acos", "arcsin": "asin", "arctan": "atan", "concatenate": "cat", "concat": "cat",
    "divide": "div", "true_divide": "div", "multiply": "mul", "subtract": "sub", "negative": "neg", "fix": "trunc",
    "ger": "outer", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne",
    "moveaxis": "movedim", "swapdims": "transpose", "row_stack": "vstack",
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_second_names(name):
    assert getattr(mytorch, name) is getattr(mytorch, SAME[name])
    assert hasattr(torch, name)
    assert hasattr(mytorch.Tensor, name) == hasattr(torch.Tensor, name)


UNARY = (
    "abs", "atan", "ceil", "cos", "exp", "expm1", "floor", "frac", "log", "log10", "log1p", "log2", "neg", "reciprocal",
    "relu", "round", "rsqrt", "sgn", "sigmoid", "sign", "sin", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
WITH_NUMBERS = {
    "pow_": (2,), "clamp_": (0.6, 0.9), "clip_": (0.6, 0.9), "clamp_min_": (0.8,), "clamp_max_": (0.8,),
    "fmod_": (0.3,), "remainder_": (0.3,), "add_": (1,), "subtract_": (1,), "multiply_": (2,), "divide_": (2,),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_in_place_forms(name):
    check(lambda t, a: getattr(a * 1, name + "_")() * a, (2, 3), low=0.5, high=1.2)
    check(lambda t, a: getattr(a.clone(), name + "_")(), (2, 3), low=0.5, high=1.2, grad=False)


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_in_place_forms_with_numbers(name):
    check(lambda t, a: getattr(a * 1, name)(*WITH_NUMBERS[name]) * a, (2, 3), low=0.5, high=1.2)


REST = {
    "addmv": lambda t, a, b: t.addmv(a[:, 0], a, b[0], beta=2),
    "clamp_max": lambda t, a, b: t.clamp_max(a, 0.5),
    "heaviside": lambda t, a, b: t.heaviside(a.detach(), b.detach()),
    "is_nonzero": lambda t, a, b: (t.is_nonzero(a.sum()), t.is_nonzero(a.sum() * 0)),
    "index_copy_": lambda t, a, b: (a * 1).index_copy_(0, t.tensor([1]), b[:1]),
    "masked_scatter_": lambda t, a, b: (a * 1).masked_scatter_(a > 0, b),
    "reshape_as": lambda t, a, b: a.T.reshape_as(b),
    "result_type": lambda t, a, b: (t.result_type(a, 1), t.result_type(t.tensor([1]), 1.5), t.result_type(1, 2.0)),
    "take_along_dim": lambda t, a, b: t.take_along_dim(a, t.tensor([[0], [1], [0]]), 1),
    "new_empty": lambda t, a, b: a.new_empty(2, 3).shape,
    "ndimension": lambda t, a, b: (a.ndimension(), a.is_complex(), a.is_pinned(), a.is_sparse, a.is_quantized),
    "H": lambda t, a, b: (a.H, a.is_meta, a.is_mps, a.share_memory_() is a),
    "aminmax": lambda t, a, b: (t.aminmax(a), t.aminmax(a, dim=1)),
    "logaddexp": lambda t, a, b: (t.logaddexp(a, b), t.hypot(a, b)),
    "logit": lambda t, a, b: (
        a.sigmoid().logit(),
        t.logit(a, 0.1),
        t.xlogy(a.abs(), b.abs()),
        t.xlogy(a.detach() * 0, b),
    ),
    "nanmean": lambda t, a, b: (a.nanmean(), t.nanmean(a / a.ceil().clamp(0).detach().where(b > 9, a), 1)),
    "diff": lambda t, a, b: (a.diff(), t.diff(a, dim=0), t.diff(a, 2)),
    "cdist": lambda t, a, b: (t.cdist(a, b), t.cdist(a, b[:2], 1.0)),
    "quantile": lambda t, a, b: (t.quantile(a, 0.5), a.quantile(0.3, dim=1), t.quantile(a, 0.9, 0, True)),
    "inner": lambda t, a, b: (t.inner(a, b), t.inner(a[0], b[0]), t.cov(a), a[0].cov()),
    "atleast": lambda t, a, b: (t.atleast_1d(a.sum()), t.atleast_2d(a[0]), t.dstack([a, b]), t.dstack((a[0], b[0]))),
    "tril_indices": lambda t, a, b: (t.tril_indices(3, 4), t.triu_indices(3, 3, 1), a[tuple(t.tril_indices(3, 4))]),
    "index_put_": lambda t, a, b: (a * 1).index_put_((t.tensor([0, 1]), t.tensor([1, 2])), b[:2, 0]),
    "fill_diagonal_": lambda t, a, b: (a[:, :3] * 1).fill_diagonal_(5.0),
    "names of NumPy": lambda t, a, b: (a.sum(axis=1, keepdims=True), t.cat([a, b], axis=1), a.mean(axis=(0, 1))),
    "named sizes": lambda t, a, b: (t.flip(a, dims=[1]), t.permute(a, dims=(1, 0)), t.reshape(a, shape=(4, 3))),
    "named repeats": lambda t, a, b: (a.expand(size=(2, 3, 4)), t.tile(a, dims=(2, 1)), a.view(size=(12,))),
    "two numbers": lambda t, a, b: (t.where(a > 0, 1, 0), t.where(a > 0, 1.0, 0), t.where(a > 0, 1, 0.5)),
    "out": lambda t, a, b: t.sum(a.detach(), 1, out=t.zeros(3, dtype=a.dtype)),
    "floor of a number": lambda t, a, b: (7 // t.arange(1, 4), 7 % t.arange(1, 4)),
    "Variable": lambda t, a, b: (t.autograd.Variable(a) * 2, t.autograd.Variable(a, requires_grad=True) * b),
    "zero gradients": lambda t, a, b: (a.ceil() + b.floor(), t.round(a) * b),
}


@pytest.mark.parametrize("name", REST)
def test_the_rest(name):
    check(REST[name], (3, 4), (3, 4))


def test_bits():
    x, y = np.array([5, 6, 1]), np.array([3, 2, 1])
    names = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift")
    check(lambda t, a, b: [getattr(t, n)(a, b) for n in names] + [t.bitwise_not(a), a.char()], x, y)
    with pytest.raises(NotImplementedError, match="convert to integers or booleans first"):
        mytorch.ones(2) & mytorch.ones(2)
