"""The reference is the oracle: check() runs one expression in mytorch and in torch and compares values and gradients.

gradcheck() compares gradients with differences of values, so it needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import mytorch

TOLERANCE = {"float64": 1e-8, "float32": 1e-4}
LAYOUTS = ("plain", "transposed", "sliced", "reversed-base")


def check(
    fn: Callable,
    *inputs: Any,
    dtype: str | None = None,
    low: float = -2.0,
    high: float = 2.0,
    seed: int = 0,
    layout: str = "plain",
    grad: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """fn(lib, *tensors) in both libraries, in float64 and float32 (or the one named).

    An input is a shape (drawn uniformly from low..high, requires grad) or an array (floats require grad, others not).
    The result is a tensor, or any nesting of tuples and lists of tensors and numbers. Gradients are those of a
    random weighting of all floating results.
    """
    import torch

    for name in (dtype,) if dtype else ("float64", "float32"):
        arrays = draw(inputs, name, low, high, seed)
        ours, our_leaves = run(fn, mytorch, arrays, layout, grad, seed)
        theirs, their_leaves = run(fn, torch, arrays, layout, grad, seed)
        tolerance = TOLERANCE[name] if rtol is None else rtol
        floor = tolerance if atol is None else atol
        compare(ours, theirs, tolerance, floor, f"{name} value")
        for i, (a, b) in enumerate(zip(our_leaves, their_leaves)):
            if b is None or not b.requires_grad:
                continue
            assert (a.grad is None) == (b.grad is None), f"{name} gradient {i}: {a.grad} against {b.grad}"
            if b.grad is not None:
                compare(a.grad, b.grad, tolerance, floor, f"{name} gradient {i}")


def draw(inputs: tuple, name: str, low: float, high: float, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    arrays = []
    for x in inputs:
        if isinstance(x, np.ndarray):
            arrays.append(x.astype(name) if x.dtype.kind == "f" else x)
        else:
            arrays.append(rng.uniform(low, high, x).astype(name))
    return arrays


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same values in other strides: neither library may assume contiguous memory."""
    if array.ndim == 0 or layout == "plain":
        return array.copy()
    if layout == "transposed":
        return np.ascontiguousarray(array.T).T
    if layout == "sliced":
        wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2 + 1), array.dtype)
        wide[..., 1::2] = array
        return wide[..., 1::2]
    wide = np.zeros((array.shape[0] + 2, *array.shape[1:]), array.dtype)
    wide[1:-1] = array
    return wide[1:-1]


def run(fn: Callable, lib: Any, arrays: list, layout: str, grad: bool, seed: int) -> tuple[list, list]:
    leaves = []
    for a in arrays:
        leaf = lib.from_numpy(laid_out(a, layout))
        leaves.append(leaf.requires_grad_() if grad and a.dtype.kind == "f" else leaf)
    out = flat(fn(lib, *leaves))
    rng = np.random.default_rng(seed + 1)
    total: Any = None
    for o in out:
        if hasattr(o, "requires_grad") and o.requires_grad:
            weight = np.asarray(rng.uniform(-1, 1, tuple(o.shape)), str(o.dtype).removeprefix("torch."))
            part = (o * lib.from_numpy(weight)).sum()
            total = part if total is None else total + part
    if total is not None:
        total.backward()
    return out, leaves


def flat(value: Any) -> list:
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return [v for part in value for v in flat(part)]
    return [value]


def compare(ours: Any, theirs: Any, rtol: float, atol: float, what: str) -> None:
    ours, theirs = flat(ours), flat(theirs)
    assert len(ours) == len(theirs), f"{what}: {len(ours)} results against torch's {len(theirs)}"
    for a, b in zip(ours, theirs):
        if not hasattr(b, "detach"):
            assert str(a) == str(b), f"{what}: {a} against torch's {b}"
            continue
        assert tuple(a.shape) == tuple(b.shape), f"{what}: shape {tuple(a.shape)} against torch's {tuple(b.shape)}"
        assert str(a.dtype) == str(b.dtype), f"{what}: dtype {a.dtype} against torch's {b.dtype}"
        assert a.requires_grad == b.requires_grad, f"{what}: requires_grad {a.requires_grad} against {b.requires_grad}"
        x, y = a.detach().numpy(), b.detach().numpy()
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, err_msg=what)


def agree(fn: Callable) -> None:
    """fn(lib) gives the same numbers, shapes and dtypes in both libraries, or the same kind of error."""
    import pytest
    import torch

    try:
        expected = fn(torch)
    except Exception as error:
        with pytest.raises(type(error)):
            fn(mytorch)
        return
    ours, theirs = flat(fn(mytorch)), flat(expected)
    assert len(ours) == len(theirs), f"{len(ours)} results against torch's {len(theirs)}"
    for a, b in zip(ours, theirs):
        if not hasattr(b, "detach"):
            assert str(a) == str(b)
            continue
        assert (tuple(a.shape), str(a.dtype)) == (tuple(b.shape), str(b.dtype))
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6)


def gradcheck(fn: Callable, *inputs: Any, seed: int = 0, low: float = -2.0, high: float = 2.0) -> None:
    """Gradients of fn(*tensors) against central differences in float64."""
    arrays = draw(inputs, "float64", low, high, seed)
    out = fn(*[mytorch.from_numpy(a.copy()) for a in arrays])
    weight = mytorch.from_numpy(np.asarray(np.random.default_rng(seed + 1).uniform(-1, 1, tuple(out.shape))))

    def value(parts: list[np.ndarray]) -> float:
        return (fn(*[mytorch.from_numpy(p) for p in parts]) * weight).sum().item()

    leaves = [mytorch.from_numpy(a.copy()) for a in arrays]
    for leaf in leaves:
        if leaf.is_floating_point():
            leaf.requires_grad_()
    (fn(*leaves) * weight).sum().backward()
    step = 1e-5
    for i, leaf in enumerate(leaves):
        if not leaf.requires_grad:
            continue
        slopes = np.zeros_like(arrays[i])
        for at in np.ndindex(arrays[i].shape):
            up, down = [a.copy() for a in arrays], [a.copy() for a in arrays]
            up[i][at] += step
            down[i][at] -= step
            slopes[at] = (value(up) - value(down)) / (2 * step)
        got = np.zeros_like(slopes) if leaf.grad is None else leaf.grad.numpy()
        np.testing.assert_allclose(got, slopes, rtol=1e-5, atol=1e-6, err_msg=f"gradient of input {i}")


def shapes(min_dims: int = 0, max_dims: int = 4, min_side: int = 1, max_side: int = 4) -> st.SearchStrategy:
    return st.lists(st.integers(min_side, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


layouts = st.sampled_from(LAYOUTS)


@st.composite
def broadcastable(draw_from: Any, count: int = 2) -> list[tuple[int, ...]]:
    """Shapes that broadcast together: each a common shape with leading dims dropped and some dims of size 1."""
    full = draw_from(shapes(max_dims=4))
    found = []
    for _ in range(count):
        kept = full[draw_from(st.integers(0, len(full))) :]
        found.append(tuple(1 if draw_from(st.booleans()) else n for n in kept))
    return found
