"""Reverse-mode differentiation: backward runs the recorded nodes, newest first.

There are two loops over the nodes. The usual one, _run, computes with arrays. With create_graph=True, _run_recorded
does the same with tensors while recording is on, so that the gradients have a history of their own.
"""

from __future__ import annotations

import itertools
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from .dtypes import COMPLEX64, COMPLEX128, of_array, unsupported
from .function import Function
from .gradmode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .gradmode import state as mode
from .graph import Node, Recomputed, edge_of, linear, needs, recomputed, record, record_view, replace_history
from .hooks import AfterGrad, after_accumulation
from .naming import attach
from .parallel import Later, backward_team
from .tensor import Tensor

__all__ = [
    "Function", "Node", "Variable", "backward", "edge_of", "enable_grad", "grad", "inference_mode", "is_grad_enabled",
    "linear", "needs", "no_grad", "recomputed", "record", "record_view", "replace_history", "set_grad_enabled",
    "spelled_out",
]  # fmt: skip

_order = attrgetter("order")
_run_number = itertools.count(1).__next__
_accumulating = threading.Lock()  # two threads may add to one leaf's .grad
getrefcount, ndarray = sys.getrefcount, np.ndarray
FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,  # an older name of grad_tensors
    inputs: Any = None,
) -> None:
    """Add the gradients of tensors to the .grad of every leaf they depend on."""
    seeds = grad_tensors if grad_variables is None else grad_variables
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    seeds = [seeds] if seeds is None or isinstance(seeds, Tensor) else list(seeds)
    roots = [_root(t, g) for t, g in zip(tensors, seeds * len(tensors) if len(seeds) == 1 else seeds)]
    keep = create_graph if retain_graph is None else retain_graph
    wanted: dict = {}
    if inputs is not None:
        ends = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        wanted = {edge_of(t): None for t in ends}
    (_run_recorded if create_graph else _run)(roots, keep, wanted, accumulate=inputs is None)
    if inputs is not None:
        for t in ends:
            if (g := wanted[edge_of(t)]) is not None:
                t._grad = g if t._grad is None else t._grad + g


def _backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradient of this tensor to the .grad of every leaf it depends on."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:
    """The gradients of outputs with respect to inputs, without touching any .grad."""
    outs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    ins = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    seeds = [grad_outputs] if isinstance(grad_outputs, Tensor) else grad_outputs or [None] * len(outs)
    for t in ins:
        if not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    if is_grads_batched:
        raise NotImplementedError("mytorch has no is_grads_batched=True: call grad() once for each row")
    wanted: dict = {edge_of(t): None for t in ins}
    roots = [_root(t, g) for t, g in zip(outs, seeds)]
    keep = create_graph if retain_graph is None else retain_graph
    (_run_recorded if create_graph else _run)(roots, keep, wanted, accumulate=False)
    gradients = [wanted[edge_of(t)] for t in ins]
    if materialize_grads:
        gradients = [Tensor(np.zeros_like(t._array)) if g is None else g for t, g in zip(ins, gradients)]
    elif not allow_unused and any(g is None for g in gradients):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )
    return tuple(gradients)


def _root(tensor: Tensor, gradient: Tensor | None) -> tuple[Any, Tensor]:
    """Where the backward pass starts, and with which gradient."""
    if not tensor.requires_grad:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    array = tensor._array
    if gradient is None:
        if array.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return edge_of(tensor), Tensor(np.ones_like(array))
    if gradient._array.shape != array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {gradient.shape} and output[0] has a shape of "
            f"{tensor.shape}."
        )
    return edge_of(tensor), gradient if gradient._array.dtype == array.dtype else gradient.to(tensor.dtype)


def _newest_first(roots: list, wanted: dict) -> tuple[list[Node], set]:
    """The nodes that can be reached from the roots, and which of them to run: all, or if gradients are wanted at
    certain edges, those on a path to one. An edge that is not a Node is a leaf tensor (or None), where a path ends."""
    stack = [edge for edge, _ in roots if edge.__class__ is Node]
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
    if not wanted:
        return nodes, seen
    useful, leading = set(wanted), set()
    for node in reversed(nodes):
        if not useful.isdisjoint(node.edges):
            useful.add(node)
            leading.add(node)
    return [node for node in nodes if node in useful], leading


def _run(roots: list, keep: bool, wanted: dict, accumulate: bool) -> None:
    """Newest node first, hand every node its whole gradient once. `wanted` (by edge) collects gradients; if
    `accumulate`, leaves add theirs to .grad."""
    grads: dict = {}  # edge -> gradient so far
    own: set = set()  # edges whose gradient array was made here, so it may be added to in place
    for edge, g in roots:
        grads[edge] = np.asarray(grads[edge] + g._array) if edge in grads else g._array
    mode.run = _run_number()
    nodes, leading = _newest_first(roots, wanted)
    with np.errstate(all="ignore"), no_grad(), backward_team():
        for node in nodes:
            g = grads.pop(node, None)
            if g is None:
                continue
            if node.hooks or node.retains or wanted:
                g = _observe(node, Tensor(g), wanted)._array
                if node not in leading:
                    continue
            backward = node.backward
            if backward is None:
                raise RuntimeError(FREED)
            edges = node.edges
            parts = backward(g, *_values(node)) if node.saved or node.output else backward(g)
            if not keep:
                node.backward = node.again = node.forward = node.output = None
                node.edges = node.saved = ()
            part = before = None
            for edge, part in zip(edges, parts):
                if edge is None or part is None:
                    continue
                before = grads.get(edge)
                if part.__class__ is Later and (before is not None or edge.__class__ is Node):
                    part = part.result()  # of a leaf with no other gradient it is not needed before the end
                if before is None:
                    grads[edge] = part
                elif edge in own:
                    np.add(before, part, out=before)
                else:
                    before = before.result() if before.__class__ is Later else before
                    grads[edge] = total = before + part
                    if total.__class__ is ndarray:  # NumPy gives a number for 0-d sums, which has no place to add to
                        own.add(edge)
                before = None
            del parts, part, g, backward, before  # a gradient with no other holder may become a leaf's without a copy
        while grads:
            leaf, g = grads.popitem()
            if leaf.__class__ is Node:
                continue  # nothing wanted lies behind it
            g = g.result() if g.__class__ is Later else g
            if leaf._hooks or wanted:
                g = _observe(leaf, Tensor(g), wanted)._array
            if accumulate:
                _accumulate(leaf, g)
                if leaf._hooks:
                    after_accumulation(leaf)


def _values(node: Node) -> list[np.ndarray]:
    """The values a node's backward reads; an error if one was changed in place since it was recorded."""
    arrays = []
    version = 0
    for tensor in node.saved:
        version += tensor._version[0]
        arrays.append(tensor._array)
    if version != node.version:
        latest = max(node.saved, key=lambda t: t._version[0])
        times = sum(t is latest for t in node.saved)
        raise _changed(latest._array, latest._version[0], latest._version[0] - (version - node.version) // times)
    if node.output is not None:
        array, changes, expected = node.output
        if changes[0] != expected:
            raise _changed(array, changes[0], expected)
        arrays.append(array)
    for array in arrays:
        kind = getattr(array, "dtype", None)  # what is recomputed when needed has none
        if kind is not None and kind.kind == "c" and not _conjugates(node):
            return [np.conj(array) for array in arrays]
    return arrays


# For complex numbers the gradient is by the conjugate of the derivative. This backward function sees to it itself.
CONJUGATING = ("mul_backward",)
# The derivatives of these are computed from what is saved by the same formula for conjugates: f'(z̄) is the conjugate
# of f'(z). So the saved values are conjugated, and the backward written for real numbers is right.
ANALYTIC = (
    *("cos", "cosh", "div", "einsum", "exp", "log", "matmul", "reciprocal", "rsqrt", "sigmoid", "sin", "sinh", "sqrt"),
    *("square", "tanh"),
)


def _conjugates(node: Node) -> bool:
    """Whether a backward that reads complex numbers conjugates them itself; if not, they are to be conjugated."""
    backward: Any = node.backward
    if backward.__name__ in CONJUGATING:
        return True
    if backward.__qualname__.partition(".")[0] in ANALYTIC:
        return False
    raise NotImplementedError(
        f"mytorch has no gradient of {node.name()} for complex numbers; use the real and imaginary parts"
    )


def _changed(array: np.ndarray, version: int, expected: int) -> RuntimeError:
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{of_array(array).legacy} {list(array.shape)}] is at version {version}; expected version {expected} "
        "instead. Hint: change it before it is used, or work on a clone()."
    )


def _run_recorded(roots: list, keep: bool, wanted: dict, accumulate: bool) -> None:
    """Like _run, but gradients are tensors and what is computed here is recorded."""
    grads: dict = {}
    for edge, g in roots:
        grads[edge] = grads[edge] + g if edge in grads else g
    nodes, leading = _newest_first(roots, wanted)
    with np.errstate(all="ignore"), enable_grad():
        for node in nodes:
            g = grads.pop(node, None)
            if g is None:
                continue
            if node.hooks or node.retains or wanted:
                g = _observe(node, g, wanted)
                if node not in leading:
                    continue
            if node.backward is None:
                raise RuntimeError(FREED)
            for edge, part in zip(node.edges, _recorded_parts(node, g)):
                if edge is not None and part is not None:
                    grads[edge] = part if edge not in grads else grads[edge] + part
            if not keep:
                node.backward = node.again = node.forward = node.output = None
                node.edges = node.saved = ()
        for leaf, g in grads.items():
            if leaf.__class__ is Node:
                continue
            if leaf._hooks or wanted:
                g = _observe(leaf, g, wanted)
            if accumulate:
                leaf._grad = g if leaf._grad is None else leaf._grad + g
                after_accumulation(leaf)


def _recorded_parts(node: Node, g: Tensor) -> Sequence[Tensor | None]:
    """A node's backward as recorded operations on tensors."""
    function: Any = node.backward
    if node.forward is not None:
        return (linear(g, lambda a: function(a)[0], node.forward),)
    if node.again is None:
        raise NotImplementedError(
            f"mytorch does not differentiate {node.name()} twice: create_graph=True needs a formula for it "
            "(`again` in mytorch/graph.py)"
        )
    arrays = _values(node)  # are they what they were?
    saved = [t if t.__class__ is not Recomputed else t.tensor() for t in node.saved]
    if node.output is not None:
        saved.append(_with_history(node.output[0], node))
    if any(getattr(a, "dtype", None) in (COMPLEX64, COMPLEX128) for a in arrays) and not _conjugates(node):
        saved = [t.conj() for t in saved]
    return (function if node.again is True else node.again)(g, *saved)


def _with_history(array: np.ndarray, node: Node) -> Tensor:
    made = Tensor(array, requires_grad=True)
    made._node = node
    return made


def spelled_out(operation: Callable[..., Tensor]) -> Callable:
    """The `again` of an operation with a fast kernel: `operation` computes the same with plain tensor operations.

    The kernel's gradient is computed from that, so it is as differentiable as they are. `operation` gets the saved
    tensors, and there must be one for each parent.
    """

    def again(g: Tensor, *saved: Tensor) -> list:
        # a copy with a node of its own marks where this operation begins, so that grad() stops there
        begins = [record(t._array, (t,), lambda g: (g,), again=True) for t in saved]
        out = operation(*begins)
        ends = [t for t in begins if t.requires_grad]
        gradients = iter(grad(out, ends, g, create_graph=True, allow_unused=True))
        return [next(gradients) if t.requires_grad else None for t in begins]

    return again


def _observe(edge: Any, g: Tensor, wanted: dict) -> Tensor:
    """Run an edge's hooks, and leave its gradient where retain_grad() or grad() asked for it."""
    for hook in list((edge.hooks if edge.__class__ is Node else edge._hooks) or ()):
        changed = None if hook.__class__ is AfterGrad else hook(g)
        if changed is not None:
            g = changed
    if edge.__class__ is Node and edge.retains is not None and (tensor := edge.retains()) is not None:
        old = tensor._grad
        tensor._grad = (g if g.requires_grad else Tensor(np.array(g._array))) if old is None else old + g
    if edge in wanted:
        wanted[edge] = g if g.requires_grad else Tensor(np.array(g._array))
    return g


def _accumulate(leaf: Tensor, g: np.ndarray) -> None:
    """Add to a leaf's .grad. A gradient that no other object refers to becomes the .grad itself, without a copy.

    A backward may give one array to several parents (addition does), or a part of an array it keeps. Python counts
    the references to every object. Three are known here: the caller's name, this argument and that of getrefcount; an
    array behind a view is known to the view and to getrefcount. With more than these the array is shared: copy it.
    """
    with _accumulating:
        if leaf._grad is not None:
            total = leaf._grad._array
            np.add(total, g, out=total, casting="same_kind")
            leaf._grad._version[0] += 1
            return
        if g.__class__ is not np.ndarray or g.dtype != leaf._array.dtype:
            g = np.array(g, leaf._array.dtype)
        alone = getrefcount(g) <= 3 and (g.base is None or getrefcount(g.base) <= 2)
        if not (alone and g.flags.c_contiguous and g.flags.writeable):
            g = np.array(g, order="C")
        leaf._grad = Tensor(g)


def Variable(data: Tensor, requires_grad: bool = False, volatile: bool | None = None) -> Tensor:
    """In older scripts: a tensor over the same memory, without history."""
    if volatile is not None:
        warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2)
    return data.detach().requires_grad_(requires_grad)


attach(backward=_backward)


def __getattr__(name: str) -> Any:
    """Modules imported only when they are asked for: functional, gradcheck, anomaly detection."""
    if name in ("functional", "detect_anomaly", "set_detect_anomaly"):
        from . import autograd_functional

        return autograd_functional if name == "functional" else getattr(autograd_functional, name)
    if name in ("gradcheck", "gradgradcheck", "GradcheckError"):
        from . import gradcheck

        return getattr(gradcheck, name)
    raise unsupported(f"torch.autograd.{name}")
