"""torch.autograd.Function: an operation whose forward and backward the user writes on tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import gradmode
from .graph import record, replace_history
from .tensor import Tensor


class Context:
    """What forward leaves for backward."""

    def __init__(self, needs: tuple[bool, ...]):
        self.needs_input_grad = needs
        self._saved: tuple = ()
        self._constants: list[Tensor] = []
        self._dirty: tuple[Tensor, ...] = ()
        self._materialize = True
        self._history: dict[int, Tensor] = {}

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple:
        """While backward is itself recorded, a saved result is the tensor with the history forward could not see."""
        return tuple(self._history.get(id(t), t) for t in self._saved)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        self._constants.extend(tensors)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Inputs changed in place and returned: apply() gives them this operation as their history."""
        self._dirty = tensors

    def set_materialize_grads(self, value: bool) -> None:
        self._materialize = value


FunctionCtx = Context  # torch's name for it


def once_differentiable(fn: Callable) -> Callable:
    """Marks a backward that cannot be differentiated itself: differentiating its result raises an error."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        with gradmode.no_grad():
            outputs = fn(ctx, *grads)
        if not any(isinstance(g, Tensor) and g.requires_grad for g in grads) or not gradmode.is_grad_enabled():
            return outputs
        several = isinstance(outputs, tuple)
        refused = tuple(
            _Refuse.apply(o, *grads) if isinstance(o, Tensor) else o for o in (outputs if several else (outputs,))
        )
        return refused if several else refused[0]

    return wrapper


class Function:
    """Subclass with static forward(ctx, ...) and backward(ctx, *grads); call with apply(...)."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a Function needs a static forward(ctx, ...)")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise NotImplementedError("a Function needs a static backward(ctx, *grads) to be differentiated")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        parents = [a for a in args if isinstance(a, Tensor)]
        ctx = Context(tuple(isinstance(a, Tensor) and a.requires_grad for a in args))
        with gradmode.no_grad():
            if "setup_context" in cls.__dict__:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)  # type: ignore[attr-defined]
            else:
                result = cls.forward(ctx, *args)
        results = result if isinstance(result, tuple) else (result,)
        outs = [r for r in results if _differentiable(r, ctx)]
        if not outs:
            return result
        # Several results are one operation with its results side by side in one array; each is a part of it.
        sizes = [t._array.size for t in outs]
        ends = np.cumsum(sizes).tolist()
        shapes = [t._array.shape for t in outs]
        single = len(outs) == 1

        def call(pieces: list) -> tuple:
            """Calls the user's backward with tensors."""
            remaining = iter(pieces)
            given = [next(remaining) if _differentiable(r, ctx) else _nothing(r, ctx) for r in results]
            grads = cls.backward(ctx, *given)
            grads = grads if isinstance(grads, tuple) else (grads,)
            if len(grads) < len(args) or any(d is not None for d in grads[len(args) :]):
                raise RuntimeError(
                    f"function {cls.__name__}Backward returned an incorrect number of gradients "
                    f"(expected {len(args)}, got {len(grads)})"
                )
            for place, (a, d) in enumerate(zip(args, grads), 1):
                if d is not None and not isinstance(a, Tensor):
                    raise RuntimeError(
                        f"function {cls.__name__}Backward returned a gradient different than None at position {place}, "
                        "but the corresponding forward input was not a Variable"
                    )
            pairs = [(a, d) for a, d in zip(args, grads) if isinstance(a, Tensor)]
            return tuple(d if d is None or d.shape == a.shape else _summed(cls, d, a) for a, d in pairs)

        def parts(g: Tensor) -> list[Tensor]:
            if single:
                return [g]
            return [g[e - n : e].reshape(shape) for e, n, shape in zip(ends, sizes, shapes)]

        def function(g: np.ndarray, *_: np.ndarray) -> tuple:
            return tuple(None if d is None else d._array for d in call(parts(Tensor(g))))

        def again(g: Tensor, *saved: Tensor) -> tuple:
            whole = saved[-1]
            ctx._history = {id(raw): t for raw, t in zip(outs, parts(whole))}
            try:
                return call(parts(g))
            finally:
                ctx._history = {}

        function.__qualname__ = cls.__name__
        read = [t for t in ctx._saved if isinstance(t, Tensor) and not any(t is r for r in results)]
        # an input handed through unchanged still needs a history of its own: a new tensor over the same memory
        array = outs[0]._array if single else np.concatenate([t._array.reshape(-1) for t in outs])
        made = record(array, parents, function, read, True, again)
        if single:
            made._version = outs[0]._version
            if made._node is not None:
                made._node.output = (made._array, made._version, made._version[0])  # forward may have written
        remaining = iter(parts(made))
        final = tuple(_returned(r, next(remaining), ctx) if _differentiable(r, ctx) else r for r in results)
        return final if isinstance(result, tuple) else final[0]


class _Refuse(Function):
    """Returns its first argument; its backward raises an error."""

    @staticmethod
    def forward(ctx: Any, result: Tensor, *grads: Any) -> Tensor:
        return result.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


InplaceFunction = Function  # its older sibling, for forwards that change their input


def _differentiable(result: Any, ctx: Context) -> bool:
    return (
        isinstance(result, Tensor)
        and result._array.dtype.kind in "fc"
        and not any(result is constant for constant in ctx._constants)
    )


def _returned(raw: Tensor, made: Tensor, ctx: Context) -> Tensor:
    """The recorded result, or the input that was changed in place to become it."""
    if not any(raw is dirty for dirty in ctx._dirty):
        return made
    if raw._requires_grad and raw._node is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if made._requires_grad:
        replace_history(raw, made)
    return raw


def _summed(cls: type, gradient: Tensor, argument: Tensor) -> Tensor:
    """A gradient with more dimensions than its argument is summed to the argument's shape, as torch does."""
    try:
        return gradient.sum_to_size(*argument.shape)
    except RuntimeError:
        raise RuntimeError(
            f"Function {cls.__name__}Backward returned an invalid gradient - got {list(gradient.shape)} but expected "
            f"shape compatible with {list(argument.shape)}"
        ) from None


def _nothing(result: Any, ctx: Context) -> Tensor | None:
    """The gradient of a result that has none."""
    wanted = isinstance(result, Tensor) and ctx._materialize
    return Tensor(np.zeros_like(result._array)) if wanted else None
