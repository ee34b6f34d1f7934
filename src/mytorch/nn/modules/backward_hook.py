"""Hooks that run when a module's gradients are known: hook(module, grad_input, grad_output)."""

from __future__ import annotations

from typing import Any

from mytorch.gradmode import is_grad_enabled
from mytorch.tensor import Tensor


def tensors_in(value: Any) -> list[Tensor]:
    """A module's output is a tensor, or a tuple, list or dict of them."""
    if isinstance(value, Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [tensor for part in parts for tensor in tensors_in(part)]


class BackwardHooks:
    """One call of a module: watches the gradients of its inputs and outputs, and runs the hooks when all are there."""

    def __init__(self, module: Any, hooks: list, pre_hooks: list):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_output: list[Any] = []
        self.grad_input: list[Any] = []
        self.missing: set[int] = set()

    def watch_inputs(self, args: tuple) -> tuple:
        """The arguments, each tensor that needs a gradient as a copy whose gradient is this call's share alone."""
        self.grad_input = [None] * len(args)
        watched = list(args)
        for place, value in enumerate(args):
            if isinstance(value, Tensor) and value.requires_grad and is_grad_enabled():
                watched[place] = value[...]  # over the same memory, as in torch
                watched[place].register_hook(lambda grad, place=place: self._input(place, grad))
                self.missing.add(place)
        return tuple(watched)

    def watch_outputs(self, result: Any) -> None:
        outputs = tensors_in(result)
        self.grad_output = [None] * len(outputs)
        for place, tensor in enumerate(outputs):
            if tensor.requires_grad:
                tensor.register_hook(lambda grad, place=place: self._output(place, grad))

    def _output(self, place: int, grad: Tensor) -> Tensor | None:
        self.grad_output[place] = grad
        changed = None
        for hook in self.pre_hooks:
            changed = hook(self.module, tuple(self.grad_output))
            if changed is not None:
                self.grad_output = list(changed)
        if not self.missing and not self.module_has_inputs():
            self._run()
        return None if changed is None else self.grad_output[place]

    def module_has_inputs(self) -> bool:
        return any(grad is not None for grad in self.grad_input)

    def _input(self, place: int, grad: Tensor) -> Tensor | None:
        self.grad_input[place] = grad
        self.missing.discard(place)
        if self.missing:
            return None
        self._run()
        return self.grad_input[place]

    def _run(self) -> None:
        for hook in self.hooks:
            changed = hook(self.module, tuple(self.grad_input), tuple(self.grad_output))
            if changed is not None:
                self.grad_input = list(changed) if isinstance(changed, tuple) else [changed]
