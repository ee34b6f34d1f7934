"""Hooks: functions that backward calls with a gradient, or with the leaf that has received one."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from .naming import attach
from .tensor import Tensor


def retain_grad(self: Tensor) -> None:
    """Keep this intermediate result's gradient in .grad when backward reaches it."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._node is not None:
        self._node.retains = weakref.ref(self)


class HookHandle:
    """remove() removes the hook again."""

    def __init__(self, hooks: list, hook: Callable):
        self.hooks, self.hook = hooks, hook

    def remove(self) -> None:
        if self.hook in self.hooks:
            self.hooks.remove(self.hook)


def register_hook(self: Tensor, hook: Callable) -> HookHandle:
    """Call hook(gradient) when this tensor's gradient is known; what it returns, if anything, replaces it."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._node is None:
        self._hooks = hooks = self._hooks if self._hooks is not None else []
    else:
        self._node.hooks = hooks = self._node.hooks if self._node.hooks is not None else []
    hooks.append(hook)
    return HookHandle(hooks, hook)


class AfterGrad:
    """A hook kept with a leaf's other hooks; it is called with the leaf after its .grad was set."""

    __slots__ = ("hook",)

    def __init__(self, hook: Callable):
        self.hook = hook


def after_accumulation(leaf: Tensor) -> None:
    for hook in list(leaf._hooks or ()):
        if hook.__class__ is AfterGrad:
            hook.hook(leaf)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable) -> HookHandle:
    """Call hook(tensor) when backward has added to this leaf's .grad: for an optimiser's step within backward."""
    if self._node is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return register_hook(self, AfterGrad(hook))  # type: ignore[arg-type]


attach(retain_grad, register_hook, register_post_accumulate_grad_hook)
