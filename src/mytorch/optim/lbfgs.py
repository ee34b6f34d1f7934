"""L-BFGS: Newton steps with a curvature guessed from the last gradients, and a strong-Wolfe line search.

It evaluates the function several times per step, so step() needs a closure that clears the gradients, computes the
loss, calls backward and returns the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mytorch.gradmode import enable_grad
from mytorch.tensor import Tensor

from .line_search import strong_wolfe
from .optimizer import Optimizer, check


class LBFGS(Optimizer):
    def __init__(
        self,
        params: Any,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ):
        check(lr, 0)
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    # all parameters as one vector

    def _gradient(self) -> np.ndarray:
        parts = [np.zeros(p._array.size, p._array.dtype) if p.grad is None else p.grad._array for p in self._params]
        return np.concatenate([part.reshape(-1) for part in parts])

    def _values(self) -> np.ndarray:
        return np.concatenate([p._array.reshape(-1) for p in self._params])

    def _set(self, values: np.ndarray) -> None:
        at = 0
        for p in self._params:
            p._array[...] = values[at : at + p._array.size].reshape(p._array.shape)
            p._version[0] += 1
            at += p._array.size

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        if closure is None:
            raise TypeError("LBFGS.step() needs a closure that computes the loss and its gradients")
        compute = closure

        def evaluate() -> float:
            with enable_grad():
                return float(compute())

        group, state = self.param_groups[0], self.state[self._params[0]]
        rate, least_change = float(group["lr"]), group["tolerance_change"]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with enable_grad():
            first_loss = compute()
        loss, evaluations = float(first_loss), 1
        state["func_evals"] += 1
        gradient = self._gradient()
        if np.abs(gradient).max() <= group["tolerance_grad"]:
            return first_loss
        memory = {name: _array_in(value) for name, value in state.items()}
        direction: Any = memory.get("d")
        t: Any = memory.get("t")
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                direction = -gradient
                memory.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            else:
                self._remember(memory, gradient - memory["prev_flat_grad"], direction * t, group["history_size"])
                direction = _two_loops(memory, gradient)
            memory["prev_flat_grad"], before = gradient.copy(), loss
            t = min(1.0, 1.0 / float(np.abs(gradient).sum())) * rate if state["n_iter"] == 1 else rate
            slope = float(gradient @ direction)
            if slope > -least_change:
                break
            here, spent = self._values(), 0
            if group["line_search_fn"] is None:
                self._set(here + t * direction)
                if iteration != group["max_iter"]:  # a last evaluation would go unused
                    loss, gradient, spent = evaluate(), self._gradient(), 1
            else:

                def along(step: float, here: np.ndarray = here, direction: np.ndarray = direction) -> tuple:
                    self._set(here + step * direction)
                    return evaluate(), self._gradient()

                loss, gradient, t, spent = strong_wolfe(along, t, direction, loss, gradient, slope)
                self._set(here + t * direction)
            evaluations += spent
            state["func_evals"] += spent
            if (
                evaluations >= group["max_eval"]
                or np.abs(gradient).max() <= group["tolerance_grad"]
                or np.abs(direction * t).max() <= least_change
                or abs(loss - before) < least_change
            ):
                break
        memory.update(d=direction, t=t, prev_loss=before)
        for name in ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss"):
            state[name] = _tensor_of(memory[name])
        return first_loss

    @staticmethod
    def _remember(memory: dict, change: np.ndarray, step: np.ndarray, most: int) -> None:
        """A pair (change of the gradient, step) is kept only if it shows positive curvature."""
        curvature = float(change @ step)
        if curvature <= 1e-10:
            return
        for history, new in (("old_dirs", change), ("old_stps", step), ("ro", 1.0 / curvature)):
            if len(memory[history]) == most:
                del memory[history][0]
            memory[history].append(new)
        memory["H_diag"] = curvature / float(change @ change)


def _array_in(value: Any) -> Any:
    """What a state holds, to compute with: arrays and numbers, or lists of them."""
    if isinstance(value, list):
        return [_array_in(each) for each in value]
    if not isinstance(value, Tensor):
        return value
    return value._array if value._array.ndim else value.item()


def _tensor_of(value: Any) -> Any:
    """What a state dict holds, as in torch: tensors for arrays."""
    if isinstance(value, list):
        return [_tensor_of(each) for each in value]
    return Tensor(value) if isinstance(value, np.ndarray) else value


def _two_loops(memory: dict, gradient: np.ndarray) -> np.ndarray:
    """Minus the gradient, times the inverse curvature that the remembered pairs stand for."""
    q, shares = -gradient, []
    pairs = list(zip(memory["old_dirs"], memory["old_stps"], memory["ro"]))
    for change, step, inverse in reversed(pairs):
        shares.append(float(step @ q) * inverse)
        q = q - shares[-1] * change
    q = q * memory["H_diag"]
    for (change, step, inverse), share in zip(pairs, reversed(shares)):
        q = q + step * (share - float(change @ q) * inverse)
    return q
