"""A model's structure as it ran: layers, shapes, parameters and MACs, as a table and a Mermaid flowchart."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from replab.data.images import ImageSpec
from replab.explain.structure.dataflow import Layer, Node, Recorder, Watch
from replab.explain.structure.mermaid import draw


@dataclass(frozen=True)
class Structure:
    """Shapes are without the batch dimension; MACs are for one image, by the rules of macs.py."""

    layers: list[Layer]  # in the order they were first called; those that never ran are last
    nodes: list[Node]  # calls of layers and free functions, in order; the first is the input
    outputs: list[tuple[int, tuple[int, ...]]]  # which nodes made the model's output, and its shape

    @property
    def parameters(self) -> int:
        return sum(layer.parameters for layer in self.layers)

    @property
    def macs(self) -> int:
        return sum(layer.macs for layer in self.layers)

    def table(self) -> str:
        """Plain text: one line per layer, indented by nesting, then the totals."""
        rows: list[tuple[str, ...]] = [("layer", "output shape", "parameters", "MACs")]
        listed: list[str] = []
        for layer in self.layers:
            parents = [name for name in listed if not name or layer.name.startswith(name + ".")]
            listed.append(layer.name)
            inner = layer.name.removeprefix(parents[-1] + ".") if parents else ""
            label = "  " * len(parents) + " ".join(filter(None, (inner, layer.kind, layer.description)))
            shape = "–" if layer.shape is None else "×".join(map(str, layer.shape))
            counts = [f"{count:,}" if layer.leaf or count else "" for count in (layer.parameters, layer.macs)]
            rows.append((label, shape, *counts))
        total = ("total", "", f"{self.parameters:,}", f"{self.macs:,}")
        widths = [max(len(row[i]) for row in [*rows, total]) for i in range(4)]
        rule = "-" * (sum(widths) + 6)
        head, *body = (_line(row, widths) for row in rows)
        return "\n".join([head, rule, *body, rule, _line(total, widths)])

    def mermaid(self) -> str:
        """A Mermaid flowchart: layers as boxes, shapes on the arrows, repeated blocks drawn once."""
        return draw(self.nodes, self.outputs, [layer.name for layer in self.layers if not layer.leaf])


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    words = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2])]
    numbers = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:])]
    return "  ".join(words + numbers).rstrip()


def trace(model: Any, image: ImageSpec, batch: int = 2) -> Structure:
    """Run the model once on zeros, in eval mode without gradients, on its device; nothing about it changes.

    MACs are multiply-accumulates of Linear, Conv, ConvTranspose, attention (projections, Q K^T and A V),
    recurrent layers and matrix products, for one image; everything else counts 0.
    """
    lib = torch if isinstance(model, torch.nn.Module) else importlib.import_module("mytorch")
    example = next(iter(model.parameters()), lib.zeros(1))
    x = lib.zeros(batch, image.channels, image.height, image.width, dtype=example.dtype)
    with _unchanged(model, lib):
        if lib is not torch:  # there is no watching its functions: layers in the order of their calls
            return _run(model, x, batch, contextlib.nullcontext)
        x = x.to(example.device)
        try:
            return _run(model, x, batch, Watch)
        except Exception:
            # Something here does not bear being watched. If the model itself fails, so will this.
            return _run(model, x, batch, contextlib.nullcontext)


@contextlib.contextmanager
def _unchanged(model: Any, lib: Any) -> Iterator[None]:
    """Eval mode without gradients; then modes, random state and fast path are as they were."""
    training = {module: module.training for module in model.modules()}
    with contextlib.ExitStack() as stack:
        if lib is torch:
            fast = torch.backends.mha.get_fastpath_enabled()
            stack.callback(torch.backends.mha.set_fastpath_enabled, fast)
            torch.backends.mha.set_fastpath_enabled(False)  # the fused encoder layer calls no inner module
            stack.enter_context(torch.random.fork_rng())
        else:
            stack.callback(lib.set_rng_state, lib.get_rng_state())
        stack.enter_context(lib.no_grad())
        try:
            model.eval()
            yield
        finally:
            for module, mode in training.items():
                module.training = mode


def _run(model: Any, x: Any, batch: int, watch: Callable[[Recorder], Any]) -> Structure:
    recorder = Recorder(model, x, batch)
    hooks = []
    for module in model.modules():
        if isinstance(module, torch.jit.ScriptModule):
            continue  # takes no hooks: its inside stays unseen
        hooks.append(module.register_forward_pre_hook(recorder.enter, with_kwargs=True))
        hooks.append(module.register_forward_hook(recorder.leave, with_kwargs=True))
    try:
        with watch(recorder):
            output = model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return _structure(model, recorder, output)


def _structure(model: Any, recorder: Recorder, output: Any) -> Structure:
    inside = tuple(f"{layer.name}." for layer in recorder.layers.values() if layer.leaf)
    for name, module in model.named_modules():
        own = any(id(p) not in recorder.counted for p in module.parameters(recurse=False))
        if own and not name.startswith(inside):
            recorder.layer(module)
    for layer in recorder.layers.values():
        layer.macs //= recorder.batch
    outputs = [(source, shape) for source, shape in recorder.sources(output) if isinstance(source, int)]
    return Structure(list(recorder.layers.values()), recorder.nodes, outputs)
