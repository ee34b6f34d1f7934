"""torch.autograd.functional: Jacobians, Hessians and their products with vectors, row by row through autograd.grad."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import mytorch
from mytorch.autograd import grad
from mytorch.tensor import Tensor


def _inputs(inputs: Any, create_graph: bool) -> tuple[Tensor, ...]:
    each = inputs if isinstance(inputs, tuple) else (inputs,)
    return tuple(x if create_graph and x.requires_grad else x.detach().clone().requires_grad_() for x in each)


def _like(inputs: Any, gradients: tuple) -> Any:
    return gradients if isinstance(inputs, tuple) else gradients[0]


def _zeros_for(gradients: tuple, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(mytorch.zeros_like(x) if g is None else g for g, x in zip(gradients, inputs))


def _rows(out: Tensor, inputs: tuple[Tensor, ...], create_graph: bool) -> list[Tensor]:
    """d out / d input for every input, shape (*out, *input): one backward per value of out."""
    flat = out.reshape(-1)
    rows = []
    for i in range(flat.numel()):
        gradients = grad(flat[i], inputs, retain_graph=True, create_graph=create_graph, allow_unused=True)
        rows.append(_zeros_for(gradients, inputs))
    return [mytorch.stack([row[place] for row in rows]).reshape(*out.shape, *x.shape) for place, x in enumerate(inputs)]


def jacobian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, **_: Any
) -> Any:
    """Of one input and one output a tensor (*output, *input); of several, tuples of them."""
    leaves = _inputs(inputs, create_graph)
    outputs = func(*leaves)
    each = outputs if isinstance(outputs, tuple) else (outputs,)
    gradients = tuple(_like(inputs, tuple(_rows(out, leaves, create_graph))) for out in each)
    return gradients if isinstance(outputs, tuple) else gradients[0]


def hessian(func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, **_: Any) -> Any:
    """Second derivatives of a function with one number as its value."""
    leaves = _inputs(inputs, create_graph)
    first = grad(func(*leaves), leaves, create_graph=True, allow_unused=True)
    first = _zeros_for(first, leaves)
    rows = []
    for g, x in zip(first, leaves):
        if g.requires_grad:
            rows.append(tuple(_rows(g, leaves, create_graph)))
        else:  # the function is linear in x
            rows.append(tuple(mytorch.zeros(*x.shape, *y.shape, dtype=x.dtype) for y in leaves))
    return tuple(rows) if isinstance(inputs, tuple) else rows[0][0]


def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """The value, and v times the Jacobian."""
    leaves = _inputs(inputs, create_graph)
    out = func(*leaves)
    gradients = grad(out, leaves, v, create_graph=create_graph, allow_unused=True)
    return (out if create_graph else out.detach()), _like(inputs, _zeros_for(gradients, leaves))


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """The value, and the Jacobian times v: by differentiating v ↦ vᵀJ once more."""
    leaves = _inputs(inputs, create_graph)
    out = func(*leaves)
    dummy = mytorch.zeros_like(out, requires_grad=True)
    back = _zeros_for(grad(out, leaves, dummy, create_graph=True, allow_unused=True), leaves)
    directions = v if isinstance(v, tuple) else (mytorch.ones_like(leaves[0]) if v is None else v,)
    (gradient,) = grad(back, (dummy,), directions, create_graph=create_graph, allow_unused=True)
    return (out if create_graph else out.detach()), mytorch.zeros_like(out) if gradient is None else gradient


def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """The value, and the Hessian times v: one gradient of a gradient."""
    leaves = _inputs(inputs, create_graph)
    out = func(*leaves)
    first = _zeros_for(grad(out, leaves, create_graph=True, allow_unused=True), leaves)
    directions = v if isinstance(v, tuple) else (mytorch.ones_like(leaves[0]) if v is None else v,)
    gradients = grad(first, leaves, directions, create_graph=create_graph, allow_unused=True)
    return (out if create_graph else out.detach()), _like(inputs, _zeros_for(gradients, leaves))


vhp = hvp  # the Hessian is symmetric


class detect_anomaly(contextlib.ContextDecorator):
    """Accepted, without effect: no backward is checked for NaN. Errors in backward name the operation in any case."""

    def __init__(self, check_nan: bool = True):
        pass

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        return None


class set_detect_anomaly(detect_anomaly):
    def __init__(self, mode: bool = True, check_nan: bool = True):
        pass
