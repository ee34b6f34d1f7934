"""Arithmetic and pointwise functions against torch, over broadcast patterns and memory layouts."""

import operator
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import agree, broadcastable, check, compare, gradcheck, layouts, shapes

import mytorch

BINARY = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": lambda a, b: a / (b * b + 0.5),
    "pow": lambda a, b: (a * a + 0.5) ** b,
    "maximum": lambda a, b: a.maximum(b),
    "minimum": lambda a, b: a.minimum(b),
    "atan2": lambda a, b: a.atan2(b),
    "remainder": lambda a, b: a % (b * b + 0.5),
    "fmod": lambda a, b: a.fmod(b * b + 0.5),
    "lerp": lambda a, b: a.lerp(b, 0.3),
    "clamp": lambda a, b: a.clamp(max=b),
    "where": lambda a, b: a.where(a > b, b),
}


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=12, deadline=None)
@given(pair=broadcastable(), layout=layouts, seed=st.integers(0, 99))
def test_binary(name, pair, layout, seed):
    check(lambda t, a, b: BINARY[name](a, b), *pair, layout=layout, seed=seed)


SMOOTH = (
    "sin",
    "cos",
    "atan",
    "sinh",
    "cosh",
    "asinh",
    "exp",
    "exp2",
    "expm1",
    "tanh",
    "sigmoid",
    "relu",
    "erf",
    "erfc",
)
PIECES = ("abs", "square", "neg", "floor", "ceil", "sign", "round", "trunc", "frac", "deg2rad", "rad2deg")
UNARY = {
    **dict.fromkeys(SMOOTH + PIECES, (-2.0, 2.0)),
    **dict.fromkeys(("asin", "acos", "atanh", "tan"), (-0.9, 0.9)),
    **dict.fromkeys(("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "reciprocal"), (0.1, 3.0)),
    "acosh": (1.1, 3.0),
}


@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=6, deadline=None)
@given(shape=shapes(), layout=layouts, seed=st.integers(0, 99))
def test_unary(name, shape, layout, seed):
    low, high = UNARY[name]
    check(
        lambda t, a: (getattr(t, name)(a), getattr(a, name)()),
        shape,
        low=low,
        high=high,
        layout=layout,
        seed=seed,
    )


SCALARS = {
    "right": lambda t, a: (a + 2, a - 2.5, a * 3, a / 4, a**2, a**3, a**0, a % 0.7, a.detach() // 0.7),
    "left": lambda t, a: (2 + a, 2.5 - a, 3 * a, 4 / (a + 9), 2**a, t.pow(2.0, a), t.rsub(a, 1)),
    "numpy scalar": lambda t, a: (
        a + np.float64(2),
        a * np.float32(3),
        a / np.float64(0.5),
        np.float64(1) * a[0],
    ),
    "alpha": lambda t, a: (t.add(a, a, alpha=2), t.sub(a, 3, alpha=2), a.add(1, alpha=0.5)),
    "clamp": lambda t, a: (
        a.clamp(-0.5, 0.5),
        a.clamp(min=0),
        a.clamp(max=1),
        t.clip(a, 0, 1),
        a.clamp_min(0.2),
    ),
    "addc": lambda t, a: (t.addcmul(a, a, a, value=0.5), t.addcdiv(a, a, a + 9, value=2), t.addcmul(a, a, a)),
    "where": lambda t, a: (t.where(a > 0, a, 0.0), t.where(a > 0, 1.0, a), a.masked_fill(a > 0, -1.0)),
    "negative": lambda t, a: (-a, +a, abs(a), a.neg(), t.negative(a)),
    "half power": lambda t, a: ((a + 3) ** 0.5, (a + 3) ** -0.5, (a + 3) ** 1.5),
    "rounding": lambda t, a: (
        t.div(a, 0.3, rounding_mode="floor"),
        t.floor_divide(a.detach(), 0.3),
        a.round(decimals=1),
    ),
    "nan": lambda t, a: (t.nan_to_num(a / a.clamp(min=0).detach().round()).detach(),),
    "scale": lambda t, a: ((a - a.mean()) / (a.std() + 1e-5),),
}


@pytest.mark.parametrize("name", SCALARS)
def test_with_numbers(name):
    check(SCALARS[name], (3, 4))


def test_gradients_add_up_where_a_tensor_is_used_twice():
    check(lambda t, a: a * a + a, (3,))
    check(lambda t, a: a + a, (3,))
    check(lambda t, a, b: (a + b) * (a - b) / (b * b + 1), (2, 3), (3,))


def test_equal_values_share_the_gradient_as_in_torch():
    ties = np.array([1.0, 2.0, 2.0])
    check(lambda t, a, b: (t.maximum(a, b), t.minimum(a, b)), ties, np.array([1.0, 2.0, 3.0]))
    check(lambda t, a: (a.clamp(1, 2), a.relu(), a.abs()), np.array([1.0, 2.0, 0.0]))


@pytest.mark.parametrize("value", [0.0, 1.0, -1e4, 1e4, float("inf"), float("-inf"), float("nan")])
def test_special_values_without_warnings(value):
    x = np.array([value, 1.0])
    names = (
        "sigmoid",
        "tanh",
        "exp",
        "log",
        "sqrt",
        "relu",
        "isnan",
        "isinf",
        "isfinite",
        "abs",
        "sign",
        "log1p",
    )
    for name in names:
        check(lambda t, a, name=name: getattr(a, name)(), x, grad=False)
    check(lambda t, a: (1 / a, a / 0, a**-1, a / a, a.clamp(-1, 1)), x, grad=False)


def test_importing_mytorch_silences_numpys_warnings_from_inside_it_only():
    """Plain arithmetic has no guard of its own, which would cost more than a small sum."""
    code = (
        "import warnings, numpy as np, mytorch; x = mytorch.tensor([float('inf')]);"
        "warnings.simplefilter('error', append=True); assert (x - x).isnan().all(); np.array([np.inf]) - np.inf"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "invalid value encountered in subtract" in done.stderr.splitlines()[-1]
    assert "mytorch/ops" not in done.stderr


@pytest.mark.parametrize("value", [-1e4, 1e4])
def test_sigmoid_has_a_gradient_far_out(value):
    check(lambda t, a: (a.sigmoid(), a.tanh()), np.array([value]))


KINDS = ("float32", "float64", "int64", "int32", "uint8", "bool")


@pytest.mark.parametrize("left", KINDS)
@pytest.mark.parametrize("right", KINDS)
@pytest.mark.parametrize("dims", [(1, 1), (1, 0), (0, 1)])
def test_promotion_is_torchs(left, right, dims):
    a = np.array([1, 0, 1], left) if dims[0] else np.array(1, left)
    b = np.array([1, 1, 1], right) if dims[1] else np.array(1, right)
    for op in (operator.add, operator.mul, operator.truediv, lambda x, y: x.maximum(y)):
        ours, theirs = op(*map(mytorch.from_numpy, (a, b))), op(*map(torch.from_numpy, (a, b)))
        compare(ours, theirs, 1e-6, 1e-6, f"{left} with {right}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [2, 2.5, True])
def test_promotion_with_python_numbers(kind, number):
    a = np.array([1, 0, 1], kind)
    for op in (operator.add, operator.mul, operator.truediv):
        ours, theirs = op(mytorch.from_numpy(a), number), op(torch.from_numpy(a), number)
        compare(ours, theirs, 1e-6, 1e-6, f"{kind} with {number}")
        ours, theirs = op(number, mytorch.from_numpy(a + 1)), op(number, torch.from_numpy(a + 1))
        compare(ours, theirs, 1e-6, 1e-6, f"{number} with {kind}")


def test_small_integers_wrap_around():
    check(lambda t, a: (a + 300, -1 * a, 255 - a, a * 2, a - 1), np.array([0, 1, 200], np.uint8))


def test_gradients_come_back_in_each_inputs_own_dtype():
    a = mytorch.ones(3, dtype=mytorch.float32, requires_grad=True)
    b = mytorch.ones(2, 3, dtype=mytorch.float64, requires_grad=True)
    (a * b + 1).sum().backward()
    assert a.grad.dtype is mytorch.float32
    assert b.grad.dtype is mytorch.float64
    assert a.grad.tolist() == [2.0, 2.0, 2.0]


def test_shapes_that_do_not_broadcast():
    for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt):
        with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(4\)"):
            op(mytorch.ones(2, 3), mytorch.ones(4))
    with pytest.raises(TypeError, match="unsupported operand"):
        mytorch.ones(2) + "a"


@pytest.mark.parametrize(
    "fn",
    [
        lambda a, b: a * b + a / (b * b + 1) - b**3,
        lambda a, b: (a.exp() + b.sigmoid()).log().tanh(),
        lambda a, b: mytorch.where(a > 0, a * b, b.sin()),
        lambda a, b: (a * a + 1).sqrt() * b.erf(),
    ],
)
def test_gradients_against_differences(fn):
    gradcheck(fn, (2, 3), (3,))


def _bytes(t, *values):
    return t.tensor(values, dtype=t.uint8)


MIXED = (
    lambda t: 255.0 - _bytes(t, 3, 250),
    lambda t: 2.0 - t.tensor([-128], dtype=t.int8),
    lambda t: t.rsub(_bytes(t, 3, 250), t.tensor([1.5]), alpha=2),
    lambda t: 300 - _bytes(t, 3, 250),
    lambda t: t.add(t.tensor([1.0]), _bytes(t, 200), alpha=2),
    lambda t: t.sub(t.tensor([1.0]), _bytes(t, 200), alpha=2),
    lambda t: t.tensor([1.0]).add_(_bytes(t, 200), alpha=2),
    lambda t: t.tensor([1]).add_(t.tensor([3]), alpha=2.5),
    lambda t: t.addcmul(t.tensor([1.0]), _bytes(t, 200), _bytes(t, 200), value=2),
    lambda t: t.tensor([1.0]).addcmul_(_bytes(t, 200), _bytes(t, 200)),
    lambda t: t.tensor([1.0]).addcdiv_(_bytes(t, 1), t.tensor([3.0])),
    lambda t: t.addcmul(t.tensor([1]), _bytes(t, 200), _bytes(t, 200), value=1.5),
    lambda t: t.hypot(t.tensor([3.0]), _bytes(t, 255)),
    lambda t: t.hypot(t.tensor([1e30]), t.tensor([1e30])),
    *(lambda t, other=other: t.ones(2) - other(t) for other in (lambda t: True, lambda t: t.tensor([True, False]))),
    lambda t: True - t.ones(2),
    lambda t: t.ones(2).sub_(t.tensor([True, False])),
)  # fmt: skip


@pytest.mark.parametrize("fn", MIXED)
def test_mixed_types_are_computed_in_the_type_of_the_result(fn):
    agree(fn)


def test_hypot():
    check(lambda t, a, b: a.hypot(b), (3, 1), (4,))


@pytest.mark.parametrize("name", ["i0", "i1", "i0e", "i1e", "gammainc", "gammaincc"])
def test_large_arguments(name):
    if name.startswith("gamma"):  # where torch's are right too: up to four standard deviations around the middle
        a = np.array([1e4, 1e5, 1e8, 1e12])
        x = a + np.sqrt(a) * np.array([-3.0, 0.0, 0.5, 4.0])
        check(lambda t, a, x: getattr(t.special, name)(a, x), a, x, dtype="float64", grad=False)
    else:
        far = np.array([[29.0, 31.0, -50.0, 0.0], [80.0, 700.0, 1e30, 2.0]])
        check(lambda t, x: getattr(t.special, name)(x), far, dtype="float64", grad=False)


@pytest.mark.parametrize("order", [0, 1])
def test_bessel_functions_far_out(order):
    expected = [[0.01998585030422312, 0.00033104301373987], [-0.07714535201411216, -0.000725968356813763]]
    values = getattr(mytorch.special, f"bessel_j{order}")(mytorch.tensor([100.0, 1e6], dtype=mytorch.float64))
    np.testing.assert_allclose(values.numpy(), expected[order], rtol=1e-8)


REAL = ("erf", "erfc", "erfinv", "digamma", "lgamma", "relu", "floor", "ceil", "sign", "round", "i0")


@pytest.mark.parametrize("name", REAL)
def test_functions_of_real_numbers_refuse_complex_ones(name):
    agree(lambda t: getattr(t, name)(t.tensor([1 + 1j])))
    agree(lambda t: t.tensor([1j]) < 1)
    agree(lambda t: t.tensor([1j]).clamp(0, 1))


def test_signs_neighbours_and_steps():
    nan = float("nan")
    for fn in (
        lambda t: t.view_as_real(t.sgn(t.tensor([3 + 4j, 0j, -2]))),
        lambda t: (t.tensor([3.0, -2.0, 0.0]).sgn(), t.square(t.tensor([True, False]))),
        lambda t: t.heaviside(t.tensor([nan, 0.0, 1.0]), t.tensor([nan, nan, 2.0])),
        lambda t: t.nextafter(t.tensor([1.0]), t.tensor([2])),
        lambda t: t.nextafter(t.tensor([1]), t.tensor([2])),
    ):
        agree(fn)
    check(lambda t, a, b: t.view_as_real(t.sgn(t.complex(a, b))), (4,), (4,))
