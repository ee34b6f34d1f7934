"""Reverse-mode differentiation: backward runs the recorded nodes, newest first."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from .dtypes import of_array
from .gradmode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .gradmode import state as mode
from .graph import Node, edge_of, needs, record, record_view, replace_history
from .naming import attach
from .tensor import Tensor

__all__ = [
    "Function", "Node", "Variable", "backward", "edge_of", "enable_grad", "grad", "inference_mode", "is_grad_enabled",
    "needs", "no_grad", "record", "record_view", "replace_history", "set_grad_enabled",
]  # fmt: skip

_order = attrgetter("order")
getrefcount = sys.getrefcount


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradient of this tensor to the .grad of every leaf it depends on."""
    only = None
    if inputs is not None:
        only = {id(edge_of(t)) for t in ([inputs] if isinstance(inputs, Tensor) else inputs)}
    _run([_root(self, gradient)], _keeps(retain_graph, create_graph), {}, only)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    **_: Any,
) -> tuple:
    """The gradients of outputs with respect to inputs, without touching any .grad."""
    outs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    ins = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    seeds = [grad_outputs] if isinstance(grad_outputs, Tensor) else grad_outputs or [None] * len(outs)
    for t in ins:
        if not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    wanted: dict = {id(edge_of(t)): None for t in ins}
    roots = [_root(t, g) for t, g in zip(outs, seeds)]
    _run(roots, _keeps(retain_graph, create_graph), wanted, set())
    found = [wanted[id(edge_of(t))] for t in ins]
    if not allow_unused and any(g is None for g in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )
    return tuple(None if g is None else Tensor(np.array(g)) for g in found)


def _keeps(retain_graph: bool | None, create_graph: bool) -> bool:
    if create_graph:
        raise NotImplementedError("mytorch has no create_graph=True: gradients are not differentiated again")
    return bool(retain_graph)


def _root(tensor: Tensor, gradient: Tensor | None) -> tuple[Any, np.ndarray]:
    if not tensor.requires_grad:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    array = tensor._array
    if gradient is None:
        if array.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return edge_of(tensor), np.ones_like(array)
    if gradient._array.shape != array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {gradient.shape} and output[0] has a shape of "
            f"{tensor.shape}."
        )
    return edge_of(tensor), gradient._array.astype(array.dtype, copy=False)


def _run(roots: list, keep: bool, wanted: dict, only: set | None) -> None:
    """Newest node first, hand every node its whole gradient once. `wanted` (by id of edge) collects gradients;
    `only`, if given, are the ids of the leaves that may accumulate."""
    grads: dict = {}  # edge -> gradient so far
    own: set = set()  # edges whose gradient array was made here, so it may be added to in place
    for edge, g in roots:
        grads[edge] = np.asarray(grads[edge] + g) if edge in grads else g
    stack = [edge for edge in grads if edge.__class__ is Node]
    seen = set(stack)
    nodes = []
    while stack:
        node = stack.pop()
        nodes.append(node)
        for edge in node.edges:
            if edge.__class__ is Node and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    nodes.sort(key=_order, reverse=True)
    mode.run += 1
    with np.errstate(all="ignore"), no_grad():
        for node in nodes:
            g = grads.pop(node, None)
            if g is None:
                continue
            if node.hooks or node.retains or wanted:
                g = _observe(node, g, wanted)
            if node.backward is None:
                raise RuntimeError(
                    "Trying to backward through the graph a second time (or directly access saved tensors after they "
                    "have already been freed). Saved intermediate values of the graph are freed when you call "
                    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
                    "graph a second time or if you need to access saved tensors after calling backward."
                )
            if node.versions is not None:
                _check(node.versions)
            parts = node.backward(g)
            edges = node.edges
            if not keep:
                node.backward = node.versions = None
                node.edges = ()
            part = None
            for edge, part in zip(edges, parts):
                if edge is None or part is None:
                    continue
                if edge not in grads:
                    grads[edge] = part
                elif edge in own:
                    np.add(grads[edge], part, out=grads[edge])
                else:
                    grads[edge] = total = grads[edge] + part
                    if total.ndim:  # NumPy gives a scalar for 0-d sums, which has no place to add to
                        own.add(edge)
            del parts, part, g  # a gradient with no other holder may become a leaf's without a copy
        while grads:
            leaf, g = grads.popitem()
            if leaf._hooks or wanted:
                g = _observe(leaf, g, wanted)
            if only is None or id(leaf) in only:
                _accumulate(leaf, g)


def _observe(edge: Any, g: np.ndarray, wanted: dict) -> np.ndarray:
    """Run an edge's hooks, and leave its gradient where retain_grad() or grad() asked for it."""
    for hook in (edge.hooks if edge.__class__ is Node else edge._hooks) or ():
        changed = hook(Tensor(g))
        if changed is not None:
            g = changed._array
    if edge.__class__ is Node and edge.retains is not None and (tensor := edge.retains()) is not None:
        old = tensor.grad
        tensor.grad = Tensor(np.array(g) if old is None else old._array + g)
    if id(edge) in wanted:
        wanted[id(edge)] = g
    return g


def _check(versions: list) -> None:
    for version, expected, array in versions:
        if version[0] != expected:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[torch.{of_array(array).legacy} {list(array.shape)}] is at version {version[0]}; expected version "
                f"{expected} instead. Hint: change it before it is used, or work on a clone()."
            )


def _accumulate(leaf: Tensor, g: np.ndarray) -> None:
    """Add to a leaf's .grad. A gradient nobody else holds becomes the .grad itself: no copy."""
    if leaf.grad is not None:
        kept = leaf.grad._array
        np.add(kept, g, out=kept, casting="same_kind")
        leaf.grad._version[0] += 1
        return
    if g.__class__ is not np.ndarray or g.dtype != leaf._array.dtype:
        g = np.array(g, leaf._array.dtype)
    # 3 references are ours: the caller's name, this argument and getrefcount's (flags would hold one more)
    alone = getrefcount(g) <= 3 and (g.base is None or getrefcount(g.base) <= 2)
    if not (alone and g.flags.c_contiguous and g.flags.writeable):
        g = np.array(g, order="C")
    leaf.grad = Tensor(g)


def retain_grad(self: Tensor) -> None:
    """Keep this intermediate result's gradient in .grad when backward reaches it."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._node is not None:
        self._node.retains = weakref.ref(self)


class HookHandle:
    """remove() takes the hook away again."""

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


def Variable(data: Tensor, requires_grad: bool = False) -> Tensor:
    """Of old: a tensor over the same memory, without history."""
    return data.detach().requires_grad_(requires_grad)


attach(backward, retain_grad, register_hook)

from .function import Function  # noqa: E402  (a Function is built on record)
