"""What is recorded of a computation: a node for each operation, with edges to where its inputs came from.

An operation computes its result with NumPy and hands it to record() together with its backward: a function from the
gradient of the result to the gradients of the parents. Three things may come with it:

* saved: the tensors whose values backward reads. It gets them as arguments behind the gradient: backward(g, x, y).
* again: how to differentiate backward itself, for create_graph=True. True says that backward is written so that it
  works on tensors as well as on arrays; otherwise it is another function with the same arguments, on tensors.
* forward: instead of `again`, for an operation that is linear in its one parent: the operation as a function of
  arrays. The derivative of its backward is the operation itself.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .gradmode import state as mode
from .tensor import Tensor

Backward = Callable[..., Sequence["np.ndarray | None"]]
Map = Callable[[np.ndarray], np.ndarray]
_count = itertools.count().__next__
ndarray, asarray, new = np.ndarray, np.asarray, object.__new__


class Node:
    """One recorded operation. An edge leads to a parent's node, to a leaf tensor, or is None (no gradient needed).

    A leaf has no node of its own (torch gives it an AccumulateGrad node): the edge is the tensor itself, and the class
    of an edge tells the two apart. Edges hold nodes and not the tensors between them, so an intermediate result lives
    only as long as some backward reads it. A node is always newer than those its edges lead to: sorting by `order` is
    a topological sort.
    """

    __slots__ = (
        "__weakref__", "again", "backward", "edges", "forward", "hooks", "order", "output", "retains", "saved",
        "version",
    )  # fmt: skip

    def __init__(
        self,
        edges: Sequence[Any],
        backward: Backward | None,
        saved: Sequence[Tensor] = (),
        output: Tensor | None = None,
        again: Any = None,
        forward: Map | None = None,
    ):
        self.edges = edges
        self.backward = backward
        # What backward reads: saved tensors, and of the result, which must not be referred to in a circle, its memory.
        # Versions only grow, so their sum tells whether one of the saved tensors was changed since.
        self.saved = saved
        self.version = version_of(saved)
        self.output = None if output is None else (output._array, output._version, output._version[0])
        self.again = again
        self.forward = forward
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


def version_of(tensors: Sequence[Tensor]) -> int:
    total = 0
    for t in tensors:
        total += t._version[0]
    return total


def needs(tensor: Tensor) -> bool:
    """Whether a gradient for this parent will be asked for."""
    return mode.enabled and tensor._requires_grad


def record(
    array: Any,
    parents: Sequence[Tensor],
    backward: Backward,
    saved: Sequence[Tensor] = (),
    saves_output: bool = False,
    again: Any = None,
    forward: Map | None = None,
) -> Tensor:
    """Wrap an operation's result; if a parent needs a gradient, remember how to compute it.

    `backward` gets the gradient of the result, then the values of `saved`, then (if saves_output) of the result, and
    gives one gradient for each parent (None where none is needed). See the top of this file for `again` and `forward`.
    """
    # Tensor(array) and Node(...) written out: this runs for every operation, and calls cost more than assignments
    out = new(Tensor)
    out._array = array if array.__class__ is ndarray else asarray(array)
    out._requires_grad = False
    out._grad = out._node = out._base = out._hooks = None
    out._version = [0]
    if mode.enabled:
        edges = []
        wanted = False
        for p in parents:
            if p._requires_grad:
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
            out._requires_grad = True
            out._node = node = new(Node)
            node.edges = edges
            node.backward = backward
            node.saved = saved
            node.version = version_of(saved) if saved else 0
            node.output = (out._array, out._version, 0) if saves_output else None
            node.again = again
            node.forward = forward
            node.order = _count()
            node.hooks = node.retains = None
    return out


class Recomputed:
    """Stands in `saved` for a tensor whose values can be computed from what backward keeps anyway.

    So the tensor itself can be freed. An ordinary backward gets the function and does not call it.
    """

    __slots__ = ("_array", "_node", "_version")

    def __init__(self, tensor: Tensor, values: Callable[[], np.ndarray]):
        self._array, self._node, self._version = values, edge_of(tensor) if tensor._requires_grad else None, [0]

    def tensor(self) -> Tensor:
        made = Tensor(self._array(), requires_grad=self._node is not None)
        made._node = self._node
        return made


def recomputed(tensor: Tensor, values: Callable[[], np.ndarray]) -> Any:
    return tensor if tensor._node is None and tensor._base is None else Recomputed(tensor, values)


def linear(x: Tensor, forward: Map, backward: Map) -> Tensor:
    """An operation that is linear in x, as a function of arrays, and its transpose."""
    return record(forward(x._array), (x,), lambda g: (backward(g),), forward=forward)


def record_view(
    array: np.ndarray, parent: Tensor, backward: Map, forward: Map | None = None, again: Any = None
) -> Tensor:
    """Like record, for a result that shares its parent's memory; backward gives the one gradient itself."""
    out = Tensor(array)
    out._version = parent._version
    if not parent._requires_grad:
        out._base = parent if parent._base is None else parent._base
    elif mode.enabled:  # a view taken under no_grad stays without history, like a detached one
        out._base = parent if parent._base is None else parent._base
        out._requires_grad = True
        edge = parent._node or parent if parent._base is None else edge_of_view(parent)

        def view_backward(g: np.ndarray) -> tuple:
            return (backward(g),)

        view_backward.__qualname__ = backward.__qualname__  # the name grad_fn shows
        out._node = Node((edge,), view_backward, (), None, again, forward)
    return out


def edge_of(tensor: Tensor) -> Any:
    return tensor._node or tensor if tensor._base is None else edge_of_view(tensor)


def edge_of_view(view: Tensor) -> Any:
    """A view's node, created again if a recorded operation changed its base in place after the view was taken."""
    base, node = view._base, view._node
    if base is not None and base._node is not None and (node is None or base._node.order > node.order):
        node = _placed(base, view)
        _move(view, node)
        view._requires_grad = True
    return node or view


def _move(tensor: Tensor, node: Node | None) -> None:
    """A tensor gets another node; the gradient that retain_grad() asked for is that of its new value."""
    old = tensor._node
    tensor._node = node
    if old is not None and node is not None and old.retains is not None and old.retains() is tensor:
        old.retains, node.retains = None, old.retains


def place_in(base: np.ndarray, view: np.ndarray) -> Callable[[Any, np.dtype], tuple[np.ndarray, np.ndarray]]:
    """place(values, dtype) makes an array laid out as `base`, and finds the part of it that `view` is of `base`.

    A view may have been taken by any chain of indexing and transposing. Instead of remembering that chain we read
    where it ended: NumPy knows the address of the view's first element and the steps between elements. The same
    distance from the start and the same steps in another array of the base's layout are the same part.
    """
    order = sorted(range(base.ndim), key=lambda i: -base.strides[i])  # the dims as they lie in memory
    back = sorted(range(base.ndim), key=order.__getitem__)
    if not base.transpose(order).flags.c_contiguous:
        raise NotImplementedError(
            "in-place changes through a view of memory with gaps are not recorded: call contiguous() first"
        )
    first, start = (a.__array_interface__["data"][0] for a in (view, base))  # addresses, in bytes
    start = (first - start) // base.itemsize
    sizes, shape, steps = [base.shape[i] for i in order], view.shape, [s // view.itemsize for s in view.strides]

    def place(values: Any, kind: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        memory = np.zeros(sizes, kind)
        whole = memory.transpose(back)
        if values is not None:
            whole[...] = values
        strides = [s * kind.itemsize for s in steps]
        return whole, np.lib.stride_tricks.as_strided(memory.reshape(-1)[start:], shape, strides)

    return place


def _placed(base: Tensor, view: Tensor) -> Node:
    """The node of a view of base, as if it had been taken now."""
    inner = view._array
    shape = inner.shape
    repeated = tuple(i for i, step in enumerate(inner.strides) if step == 0 and inner.shape[i] > 1)  # by expand
    if repeated:
        inner = inner[tuple(slice(1) if i in repeated else slice(None) for i in range(inner.ndim))]
    place = place_in(base._array, inner)

    def view_backward(g: np.ndarray) -> tuple:
        whole, part = place(None, g.dtype)
        part[...] = g.sum(repeated, keepdims=True) if repeated else g
        return (whole,)

    return Node((base._node,), view_backward, forward=lambda a: np.broadcast_to(place(a, a.dtype)[1], shape).copy())


def replace_history(target: Tensor, result: Tensor) -> None:
    """After `result` was written into target's memory: target, and the base it is a view of, come from result."""
    base = target._base
    if base is None:
        _move(target, result._node)
        target._requires_grad = result._requires_grad
        return
    place = place_in(base._array, target._array)

    def without(g: np.ndarray) -> np.ndarray:
        whole, part = place(g, g.dtype)
        part[...] = 0
        return whole

    def changed(g: np.ndarray) -> np.ndarray:
        return place(g, g.dtype)[1].copy()

    def put(g: np.ndarray) -> np.ndarray:
        whole, part = place(None, g.dtype)
        part[...] = g
        return whole

    def inplace_backward(g: np.ndarray) -> tuple:
        return without(g), changed(g)

    def inplace_again(g: Tensor) -> tuple:
        return linear(g, without, without), linear(g, changed, put)

    before = (base._node or base) if base._requires_grad else None
    _move(base, Node((before, result._node), inplace_backward, again=inplace_again))
    base._requires_grad = target._requires_grad = True
    _move(target, _placed(base, target))
