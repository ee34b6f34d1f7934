"""repr against torch's, character for character."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mytorch

VALUES = [
    [1.0, 2.0], [[1, 2], [3, 4]], [1.5, 2.25, 1e6], [1e-5, 1.0], True, 3.0, 3.25, 7, [[True, False]], [], [-1.0, 2.0],
    [[[1.0, 2.0]], [[3.0, 4.0]]], list(range(30)), [float("nan"), 1.0], [float("inf"), 1.5], [1e9, 1.0], [0.0, 0.5],
    [1e-9, 2e-9], [123456.789], [float("nan"), 0.1], [[]], [-0.0], [100000.0, 0.001], [2**40, 1],
    1j, [1 + 2j, 3.5 - 1e-3j], [[1 + 2j, -3 - 4j], [0, 1e6j]], [float("nan"), 1j * float("inf")], [1e-5 + 1j, 1],
    [0j], [float("nan")] * 30,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values(value):
    assert repr(mytorch.tensor(value)) == repr(torch.tensor(value))


@pytest.mark.parametrize("shape", [(2000,), (50, 50), (3, 20, 20), (0, 3), (2, 3, 4), (1, 1, 1, 30), (12, 13)])
@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "bool", "complex64", "complex128"])
def test_shapes(shape, kind):
    array = (np.random.default_rng(0).normal(size=shape) * 3).astype(kind)
    if array.dtype.kind == "c":
        array *= 1 - 2.5j
    assert repr(mytorch.from_numpy(array)) == repr(torch.from_numpy(array))


@settings(max_examples=40, deadline=None)
@given(
    array=arrays(
        st.sampled_from([np.float32, np.int64]),
        st.sampled_from([(3,), (2, 3), ()]),
        elements=st.integers(-(10**6), 10**6) | st.sampled_from([1, 2, 10**4]),
        fill=st.nothing(),
    ),
    scale=st.sampled_from([1, 10, 1000, 10**5]),
)
def test_any_numbers(array, scale):
    scaled = np.asarray(array / np.asarray(scale, array.dtype)) if array.dtype.kind == "f" else array
    assert repr(mytorch.from_numpy(scaled)) == repr(torch.from_numpy(scaled))


def test_notes():
    for t in (torch, mytorch):
        x = t.ones(2, requires_grad=True)
        assert repr(x) == "tensor([1., 1.], requires_grad=True)"
        assert repr(x * 2) == "tensor([2., 2.], grad_fn=<MulBackward0>)"
        assert repr(x + 1) == repr(x + t.ones(2)) == "tensor([2., 2.], grad_fn=<AddBackward0>)"
        assert "grad_fn=<" in repr(x[0])
        assert repr(x.double().detach()) == "tensor([1., 1.], dtype=torch.float64)"
        assert str(x.sum().exp()) == "tensor(7.3891, grad_fn=<ExpBackward0>)"
        assert f"{t.tensor(1.0)}" in ("tensor(1.)", "1.0")


def test_embeddings():
    for options in ({}, {"padding_idx": 0, "max_norm": 1.0}, {"norm_type": 3.0, "scale_grad_by_freq": True}):
        assert repr(mytorch.nn.Embedding(3, 4, **options)) == repr(torch.nn.Embedding(3, 4, **options))


def test_options():
    x = [1.23456789, 100.5]
    try:
        for t in (torch, mytorch):
            t.set_printoptions(precision=2, sci_mode=False)
        assert repr(mytorch.tensor(x)) == repr(torch.tensor(x)) == "tensor([  1.23, 100.50])"
        for t in (torch, mytorch):
            t.set_printoptions(profile="full")
        long = np.arange(1200.0)
        assert repr(mytorch.from_numpy(long)) == repr(torch.from_numpy(long))
    finally:
        for t in (torch, mytorch):
            t.set_printoptions(profile="default")


def test_a_wide_tensor_of_one_number_is_not_unpacked():
    for shape in ((10**10,), (10**5, 10**5), (2, 10**9)):
        assert repr(mytorch.zeros(1).expand(*shape)) == repr(torch.zeros(1).expand(*shape))


SEVERAL = {  # name in return_types → a call
    **{name: lambda t, x, name=name: getattr(x, name)(1) for name in (
        "max", "min", "median", "nanmedian", "mode", "sort", "topk", "kthvalue", "cummax", "cummin")},
    **{name: lambda t, x, name=name: getattr(t, name)(x) for name in (
        "aminmax", "frexp", "histogram", "svd", "qr", "slogdet")},
    **{f"linalg_{name}": lambda t, x, name=name: getattr(t.linalg, name)(x) for name in (
        "slogdet", "qr", "svd", "eig", "eigh", "cholesky_ex", "inv_ex", "lu_factor", "lu_factor_ex", "lu")},
    **{f"linalg_{name}": lambda t, x, name=name: getattr(t.linalg, name)(x, x) for name in ("solve_ex", "lstsq")},
    "lu_unpack": lambda t, x: t.lu_unpack(*t.linalg.lu_factor(x)),
    "triangular_solve": lambda t, x: t.triangular_solve(x, x),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*is deprecated")
@pytest.mark.parametrize("name", SEVERAL)
def test_several_results_have_torchs_names(name):
    values = np.array([[3.0, 1.0], [1.0, 5.0]], np.float32)
    theirs, ours = (SEVERAL[name](lib, lib.from_numpy(values)) for lib in (torch, mytorch))
    assert isinstance(ours, getattr(mytorch.return_types, name))
    (first, *shown), (wanted_first, *wanted) = (
        [line.partition("=")[0] for line in repr(one).splitlines() if "(" in line] for one in (ours, theirs)
    )
    assert first == wanted_first == f"torch.return_types.{name}("
    assert shown == wanted
    assert all(getattr(ours, field) is part for field, part in zip(wanted, ours))


def test_several_results_print_as_torchs():
    x = [[3.0, 1.0], [2.0, 5.0]]
    assert str(mytorch.tensor(x).max(1)) == str(torch.tensor(x).max(1))
