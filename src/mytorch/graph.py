"""What is recorded of a computation: a node for each operation, with edges to where its inputs came from."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .gradmode import state as mode
from .tensor import Tensor

Backward = Callable[[np.ndarray], Sequence["np.ndarray | None"]]
_count = itertools.count().__next__


class Node:
    """One recorded operation. An edge leads to a parent's node, to a leaf tensor, or is None (no gradient needed).

    Edges hold nodes and not tensors, so an intermediate result lives only as long as some backward reads it.
    A node is always newer than those its edges lead to: sorting by `order` is a topological sort.
    """

    __slots__ = ("__weakref__", "backward", "edges", "hooks", "order", "retains", "versions")

    def __init__(self, edges: Sequence[Any], backward: Backward | None, versions: list | None):
        self.edges = edges
        self.backward = backward
        self.versions = versions  # [(version list, value when recorded, array)] of what backward reads
        self.order = _count()
        self.hooks: list | None = None
        self.retains: weakref.ref | None = None  # the tensor that asked retain_grad()

    def name(self) -> str:
        word = self.backward.__qualname__.partition(".")[0] if self.backward is not None else "freed"
        return word.strip("_").title().replace("_", "") + "Backward0"

    @property
    def next_functions(self) -> tuple:
        return tuple((edge, 0) for edge in self.edges)

    def __repr__(self) -> str:
        return f"<{self.name()}>"


def needs(tensor: Tensor) -> bool:
    """Whether a gradient for this parent will be asked for."""
    return mode.enabled and tensor.requires_grad


def record(
    array: Any,
    parents: Sequence[Tensor],
    backward: Backward,
    saved: Iterable[Tensor] = (),
    saves_output: bool = False,
) -> Tensor:
    """Wrap an operation's result; if a parent needs a gradient, remember how to compute it.

    `backward` gets the gradient of the result and gives one for each parent (None where none is needed).
    `saved` are the tensors whose memory it reads; `saves_output` says it reads the result's memory too.
    """
    out = Tensor(array)
    if mode.enabled:
        edges = []
        wanted = False
        for p in parents:
            if p.requires_grad:
                wanted = True
                edges.append(p._node or p if p._base is None else edge_of_view(p))
            elif p._base is None or p._base._node is None:
                edges.append(None)
            else:
                raise RuntimeError(
                    "a view was taken before its tensor was changed in place by an operation that needs a gradient: "
                    "take the view after the change"
                )
        if wanted:
            out.requires_grad = True
            versions = None
            if saved:
                versions = [(t._version, t._version[0], t._array) for t in saved]
            if saves_output:
                versions = [*(versions or ()), (out._version, 0, out._array)]
            out._node = Node(edges, backward, versions)
    return out


def record_view(array: np.ndarray, parent: Tensor, backward: Callable[[np.ndarray], np.ndarray]) -> Tensor:
    """Like record, for a result that shares its parent's memory; backward gives the one gradient itself."""
    out = Tensor(array)
    out._version = parent._version
    if not parent.requires_grad:
        out._base = parent if parent._base is None else parent._base
    elif mode.enabled:  # a view taken under no_grad stays without history, like a detached one
        out._base = parent if parent._base is None else parent._base
        out.requires_grad = True
        edge = parent._node or parent if parent._base is None else edge_of_view(parent)

        def view_backward(g: np.ndarray) -> tuple:
            return (backward(g),)

        view_backward.__qualname__ = backward.__qualname__  # the name grad_fn shows
        out._node = Node((edge,), view_backward, None)
    return out


def edge_of(tensor: Tensor) -> Any:
    return tensor._node or tensor if tensor._base is None else edge_of_view(tensor)


def edge_of_view(view: Tensor) -> Any:
    """A view's node, made anew when its base was changed in place by a recorded operation after it was taken."""
    base, node = view._base, view._node
    if base is not None and base._node is not None and (node is None or base._node.order > node.order):
        view._node = node = Node((base._node,), _place_backward(base._array, view._array), None)
        view.requires_grad = True
    return node or view


def place_in(base: np.ndarray, view: np.ndarray) -> Callable[[Any, np.dtype], tuple[np.ndarray, np.ndarray]]:
    """place(values, dtype) makes an array laid out as `base`, and finds the part of it that `view` is of `base`."""
    order = sorted(range(base.ndim), key=lambda i: -base.strides[i])  # the dims as they lie in memory
    back = sorted(range(base.ndim), key=order.__getitem__)
    if not base.transpose(order).flags.c_contiguous:
        raise NotImplementedError(
            "in-place changes through a view of memory with gaps are not recorded: call contiguous() first"
        )
    start = (view.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // base.itemsize
    sizes, shape, steps = [base.shape[i] for i in order], view.shape, [s // view.itemsize for s in view.strides]

    def place(values: Any, kind: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        memory = np.zeros(sizes, kind)
        whole = memory.transpose(back)
        if values is not None:
            whole[...] = values
        strides = [s * kind.itemsize for s in steps]
        return whole, np.lib.stride_tricks.as_strided(memory.reshape(-1)[start:], shape, strides)

    return place


def _place_backward(base: np.ndarray, view: np.ndarray) -> Backward:
    repeated = tuple(i for i, step in enumerate(view.strides) if step == 0 and view.shape[i] > 1)  # by expand
    if repeated:
        view = view[tuple(slice(1) if i in repeated else slice(None) for i in range(view.ndim))]
    place = place_in(base, view)

    def view_backward(g: np.ndarray) -> tuple:
        whole, part = place(None, g.dtype)
        part[...] = g.sum(repeated, keepdims=True) if repeated else g
        return (whole,)

    return view_backward


def replace_history(target: Tensor, result: Tensor) -> None:
    """After `result` was written into target's memory: target, and the base it is a view of, come from result."""
    base = target._base
    if base is None:
        target._node, target.requires_grad = result._node, result.requires_grad
        return
    place = place_in(base._array, target._array)

    def inplace_backward(g: np.ndarray) -> tuple:
        whole, part = place(g, g.dtype)
        changed = part.copy()
        part[...] = 0
        return whole, changed

    before = (base._node or base) if base.requires_grad else None
    base._node = Node((before, result._node), inplace_backward, None)
    target._node = Node((base._node,), _place_backward(base._array, target._array), None)
    base.requires_grad = target.requires_grad = True
