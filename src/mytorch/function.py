"""torch.autograd.Function: an operation whose forward and backward the user writes on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import gradmode
from .tensor import Tensor


class Context:
    """What forward leaves for backward."""

    def __init__(self, needs: tuple[bool, ...]):
        self.needs_input_grad = needs
        self._saved: tuple = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple:
        return self._saved

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        for t in tensors:
            t.requires_grad = False

    def set_materialize_grads(self, value: bool) -> None:
        pass


class Function:
    """Subclass with static forward(ctx, ...) and backward(ctx, *grads); call with apply(...). One tensor comes out."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a Function needs a static forward(ctx, ...)")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise NotImplementedError("a Function needs a static backward(ctx, *grads) to be differentiated")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        from .autograd import record

        parents = [a for a in args if isinstance(a, Tensor)]
        ctx = Context(tuple(isinstance(a, Tensor) and a.requires_grad for a in args))
        with gradmode.no_grad():
            if "setup_context" in cls.__dict__:
                out = cls.forward(*args)
                cls.setup_context(ctx, args, out)  # type: ignore[attr-defined]
            else:
                out = cls.forward(ctx, *args)
        if not isinstance(out, Tensor):
            raise NotImplementedError(
                f"{cls.__name__}: mytorch differentiates a Function with one tensor as its output"
            )

        def function(g: np.ndarray) -> tuple:
            grads = cls.backward(ctx, Tensor(g))
            grads = grads if isinstance(grads, tuple) else (grads,)
            if len(grads) < len(args):
                raise RuntimeError(
                    f"function {cls.__name__}Backward returned an incorrect number of gradients "
                    f"(expected {len(args)}, got {len(grads)})"
                )
            return tuple(None if d is None else d._array for a, d in zip(args, grads) if isinstance(a, Tensor))

        function.__qualname__ = cls.__name__
        saved = [t for t in ctx._saved if isinstance(t, Tensor) and t is not out]
        # an input handed through unchanged still needs a history of its own: a new tensor over the same memory
        made = record(out._array, parents, function, saved)
        made._version = out._version
        return made
