"""What a model did in one forward pass: which layer or free function made each tensor, and who used it.

Hooks see the layers; a TorchFunctionMode sees the functions between them, so the record follows whatever
control flow the model has. A tensor that came from nowhere we saw is taken to come from the step before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from replab.explain.structure import macs

Source = int | str  # the index of a node, or the name of a parameter or buffer
Shape = tuple[int, ...]

# Functions that only look at the same numbers in another way: the arrow goes through them.
_VIEWS = {"get", "iter", "view", "view_as", "reshape", "permute", "transpose", "t", "swapaxes", "movedim"}
_VIEWS |= {"unsqueeze", "squeeze", "expand", "expand_as", "repeat", "chunk", "split", "unbind"}
_VIEWS |= {"contiguous", "clone", "detach", "to", "float", "type_as"}
_ARITHMETIC = {"add", "sub", "mul", "div", "truediv", "neg", "rsub", "pow"}


@dataclass
class Layer:
    """One module that ran. Numbers are for one image; `parameters` are its own, not its children's."""

    name: str
    kind: str
    description: str
    parameters: int
    leaf: bool
    shape: Shape | None = None  # of its output; None: it did not run
    macs: int = 0
    beside: str = ""  # the layer called just before on the very same tensors: a VAE's mean beside its variance


@dataclass
class Node:
    """One call of a layer or a free function."""

    kind: str
    description: str
    scope: tuple[str, ...]  # the modules it ran in, outermost first; a layer's own name is the last
    layer: bool
    shape: Shape
    inputs: list[tuple[int, Shape]]  # the node that made it, and the shape it came in
    constants: list[str] = field(default_factory=list)  # parameters used directly


class Recorder:
    """Fills `nodes` (in call order; the first is the input) and `layers` while the model runs."""

    def __init__(self, model: Any, image: Any, batch: int):
        self.batch = batch
        self.names = {id(module): name for name, module in model.named_modules()}
        self.layers: dict[str, Layer] = {}
        self.nodes = [Node("input", "", (), False, self.short(image), [])]
        self.origin: dict[int, tuple[Source, ...]] = {id(image): (0,)}
        self.alive: list[Any] = [image]  # a live reference keeps its id unique
        self.stack: list[str] = []
        self.leaf: str | None = None  # the layer being called, whose inside does not concern us
        self.inside = 0  # MACs of the functions it calls, for a layer without a rule
        self.entered: list[tuple[Source, Shape]] = []
        self.latest: tuple[str, list[tuple[Source, Shape]]] = ("", [])  # the last leaf, and what it was called on
        self.counted: set[int] = set()  # parameters, once each
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            self.origin[id(tensor)] = (name,)

    def short(self, tensor: Any) -> Shape:
        """The shape without its batch dimension, which is the first or, for time-first layers, the second."""
        shape = tuple(tensor.shape)
        for dim in range(min(2, len(shape))):
            if shape[dim] == self.batch:
                return shape[:dim] + shape[dim + 1 :]
        return shape

    def sources(self, *values: Any) -> list[tuple[Source, Shape]]:
        """Where the tensors among the values were made, each with its present shape."""
        made = []
        for tensor in tensors(values):
            for source in self.origin.get(id(tensor), (len(self.nodes) - 1,)):
                made.append((source, self.short(tensor)))
        return list(dict.fromkeys(made))

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        if self.leaf is not None:
            return
        name = self.names[id(module)]
        self.stack.append(name)
        self.layer(module)
        if self.layers[name].leaf:
            self.leaf, self.inside = name, 0
            self.entered = self.sources(args, kwargs)

    def leave(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        name = self.names[id(module)]
        if self.leaf is not None and self.leaf != name:
            return
        layer = self.layers[name]
        first = next(tensors(output), None)
        layer.shape = () if first is None else self.short(first)
        if self.leaf is not None:
            self.leaf = None
            given = [*tensors((args, kwargs))]
            known = macs.of_module(module, given, first)
            layer.macs += self.inside if known is None else known
            before, sources = self.latest
            layer.beside = before if sources and sources == self.entered and before != name else ""
            self.latest = (layer.beside or name, self.entered)
            self.node(layer.kind, layer.description, tuple(self.stack), True, self.entered, output)
        self.stack.pop()

    def layer(self, module: Any) -> None:
        """A row for a module when it is first called, or after the run if it never was."""
        name = self.names[id(module)]
        if name in self.layers:
            return
        leaf = is_leaf(module, name)
        own = [p for p in module.parameters(recurse=leaf) if id(p) not in self.counted]
        self.counted |= {id(p) for p in own}
        count = sum(p.numel() for p in own)
        self.layers[name] = Layer(name, type(module).__name__, describe(module) if leaf else "", count, leaf)

    def function(self, name: str, args: Any, kwargs: Any, sources: list, output: Any) -> None:
        made = [*tensors(output)]
        if not made:
            return
        work = macs.of_function(name, [*args, *kwargs.values()], made[0])
        if self.leaf is not None:
            self.inside += work
            return
        if work:
            self.layers[self.stack[-1]].macs += work
        data = [source for source, _ in sources if isinstance(source, int)]
        scaled = name in _ARITHMETIC and len(sources) == 1
        if name in _VIEWS or scaled or not data:
            for tensor in made:  # not a step: it stays where it was made, or made of constants
                self.keep(tensor, tuple(dict.fromkeys(source for source, _ in sources)))
        else:
            self.node(name, "", tuple(self.stack), False, sources, output)

    def node(self, kind: str, description: str, scope: tuple, layer: bool, sources: Any, output: Any) -> None:
        made = [*tensors(output)]
        inputs = [(source, shape) for source, shape in sources if isinstance(source, int)]
        names = [source for source, _ in sources if isinstance(source, str)]
        shape = self.short(made[0]) if made else ()
        for tensor in made:
            self.keep(tensor, (len(self.nodes),))
        self.nodes.append(Node(kind, description, scope, layer, shape, inputs, names))

    def keep(self, tensor: Any, origin: tuple[Source, ...]) -> None:
        self.alive.append(tensor)
        self.origin[id(tensor)] = origin


class Watch(TorchFunctionMode):
    """Tells the recorder of every torch function and tensor method."""

    def __init__(self, recorder: Recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        sources = self.recorder.sources(args, kwargs)  # before: an in-place function makes its input anew
        output = func(*args, **kwargs)
        name = plain(getattr(func, "__name__", "function"))
        if name == "iter":
            items = [*output]  # unpacking a tensor: what the iterator gives is a view of it
            self.recorder.function(name, args, kwargs, sources, items)
            return iter(items)
        self.recorder.function(name, args, kwargs, sources, output)
        return output


def tensors(value: Any) -> Iterator[Any]:
    """Every tensor in nested tuples, lists and dicts; of mytorch as well as of torch."""
    if isinstance(value, Tensor) or type(value).__name__ in ("Tensor", "Parameter"):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))


def plain(name: str) -> str:
    """`__iadd__`, `__radd__`, `add_` and `add` are one function; so are `cat` and `concat`."""
    bare = name.strip("_")
    if name.startswith("__") and bare[0] in "ir" and bare[1:] in {*_ARITHMETIC, "matmul"}:
        bare = bare[1:]
    return {"concat": "cat", "concatenate": "cat"}.get(bare, bare)


def is_leaf(module: Any, name: str) -> bool:
    """A box of its own: a library layer, or a user's module without children unless it is the whole model."""
    library = type(module).__module__.split(".")[0] in ("torch", "mytorch")
    alone = next(iter(module.children()), None) is None
    return (alone and (library or name != "")) or type(module).__name__ == "MultiheadAttention"


def describe(module: Any) -> str:
    """What tells two layers of a type apart, in few characters."""
    kind = type(module).__name__
    if kind == "Linear":
        return f"{module.in_features}→{module.out_features}"
    if kind.startswith("Conv") and hasattr(module, "in_channels"):
        stride = "" if set(module.stride) == {1} else f", stride {_sides(module.stride)}"
        return f"{_sides(module.kernel_size)}, {module.in_channels}→{module.out_channels}{stride}"
    if kind in ("LSTM", "GRU", "RNN"):
        both = ", bidirectional" if module.bidirectional else ""
        return f"{module.input_size}→{module.hidden_size}, layers {module.num_layers}{both}"
    if kind == "MultiheadAttention":
        return f"{module.embed_dim}, heads {module.num_heads}"
    if "Pool" in kind and hasattr(module, "kernel_size"):
        return _sides(module.kernel_size)
    if "Pool" in kind and hasattr(module, "output_size"):
        return f"to {_sides(module.output_size)}"
    if kind.startswith("Dropout"):
        return f"{module.p:g}"
    return ""


def _sides(size: Any) -> str:
    sides = size if isinstance(size, (tuple, list)) else (size, size)
    return "×".join(str(side) for side in sides)
