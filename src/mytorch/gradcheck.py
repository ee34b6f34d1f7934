"""torch.autograd.gradcheck and gradgradcheck: gradients compared with finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .autograd import grad
from .gradmode import no_grad
from .tensor import Tensor


class GradcheckError(RuntimeError):
    """Raised where a gradient differs from the slope of its function."""


def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    **_: Any,
) -> bool:
    """Whether every gradient of func(*inputs) agrees with central differences; inputs should be float64."""
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    leaves = [t for t in given if isinstance(t, Tensor) and t.requires_grad]
    if not leaves:
        raise ValueError("gradcheck expects at least one input tensor to require gradient: set requires_grad=True")
    outputs = _outputs(func(*given))
    try:
        for number, out in enumerate(outputs):
            for place, leaf in enumerate(leaves):
                slopes = _differences(func, given, leaf, number, eps)
                analytical = _gradients(out, leaf)
                if not np.allclose(analytical, slopes, rtol, atol):
                    raise GradcheckError(
                        f"Jacobian mismatch for output {number} with respect to input {place},\n"
                        f"numerical:{slopes}\nanalytical:{analytical}"
                    )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Callable, inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """The same for the gradients of func: is what create_graph=True records right?"""
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    leaves = [i for i, t in enumerate(given) if isinstance(t, Tensor) and t.requires_grad]
    rng = np.random.default_rng(0)
    seeds = [Tensor(rng.standard_normal(o.shape).astype(o._array.dtype)) for o in _outputs(func(*given))]
    if grad_outputs is not None:
        seeds = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    seeds = [s.detach().requires_grad_() for s in seeds]

    def gradients(*all_inputs: Any) -> tuple:
        values, weights = all_inputs[: len(given)], all_inputs[len(given) :]
        wanted = [values[i] for i in leaves]
        gradients = grad(_outputs(func(*values)), wanted, list(weights), create_graph=True, allow_unused=True)
        return tuple(g for g in gradients if g is not None and g.requires_grad)

    return gradcheck(gradients, [*given, *seeds], **options)


def _outputs(result: Any) -> list[Tensor]:
    several = result if isinstance(result, (tuple, list)) else [result]
    return [t for t in several if isinstance(t, Tensor) and t.requires_grad]


def _gradients(out: Tensor, leaf: Tensor) -> np.ndarray:
    """(leaf elements, out elements), one backward pass per element of the output."""
    columns = []
    for i in range(out.numel()):
        seed = np.zeros(out.numel(), out._array.dtype)
        seed[i] = 1
        (gradient,) = grad(out, leaf, Tensor(seed.reshape(out.shape)), retain_graph=True, allow_unused=True)
        columns.append(np.zeros(leaf.numel()) if gradient is None else gradient.detach().numpy().reshape(-1))
    return np.stack(columns, 1) if columns else np.zeros((leaf.numel(), 0))


def _differences(func: Callable, given: list, leaf: Tensor, number: int, eps: float) -> np.ndarray:
    """The same Jacobian from differences: each element of the leaf is moved up and down by eps."""
    rows = []
    for at in np.ndindex(leaf._array.shape):
        values = []
        for step in (eps, -eps):
            with no_grad():
                leaf._array[at] += step
            try:
                values.append(_outputs(func(*given))[number]._array.copy())  # recorded: some functions take gradients
            finally:
                leaf._array[at] -= step
        rows.append(((values[0] - values[1]) / (2 * eps)).reshape(-1))
    return np.stack(rows) if rows else np.zeros((0, 0))
