"""Multiply-accumulates: Linear, convolutions, attention, recurrent layers, matrix products; the rest is 0.

A convolution counts its outputs times the weights of one output, padding included; attention its four
projections, Q K^T and A V; a recurrent layer its weight matrices once a time step.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any


def of_module(module: Any, inputs: Sequence[Any], output: Any) -> int | None:
    """MACs of a known layer for the whole batch; None for a type that has no rule here."""
    kinds = {kind.__name__ for kind in type(module).__mro__}
    if "Linear" in kinds:
        return prod(output.shape) * module.in_features
    if "_ConvTransposeNd" in kinds or "ConvTranspose2d" in kinds:
        return prod(inputs[0].shape) * prod(module.weight.shape[1:])  # weight (in, out / groups, *kernel)
    if "_ConvNd" in kinds or "Conv2d" in kinds:
        return prod(output.shape) * prod(module.weight.shape[1:])  # weight (out, in / groups, *kernel)
    if "MultiheadAttention" in kinds:
        return _attention(module, *inputs[:3])
    if kinds & {"RNNBase", "LSTM"}:
        weights = sum(prod(weight.shape) for weight in module.parameters() if len(weight.shape) > 1)
        return prod(inputs[0].shape) // module.input_size * weights
    return None


def _attention(module: Any, query: Any, key: Any, value: Any) -> int:
    width = module.embed_dim
    time = 1 if module.batch_first and len(query.shape) == 3 else 0
    rows, source = prod(query.shape) // width, key.shape[time]  # B * T queries look at `source` keys
    project = 2 * rows * width * width + (prod(key.shape) + prod(value.shape)) * width
    return project + 2 * rows * source * width


def of_function(name: str, args: Sequence[Any], output: Any) -> int:
    """MACs of a free function by its name (`linear`, `matmul`, `einsum` …) for the whole batch."""
    if name in ("linear", "matmul", "mm", "bmm", "mv", "dot"):
        return prod(output.shape) * args[0].shape[-1]
    if name in ("addmm", "baddbmm"):
        return prod(output.shape) * args[1].shape[-1]
    if name in ("conv1d", "conv2d", "conv3d"):
        return prod(output.shape) * prod(args[1].shape[1:])
    if name in ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"):
        return prod(args[0].shape) * prod(args[1].shape[1:])
    if name == "scaled_dot_product_attention":
        query, key, value = args[:3]
        return prod(query.shape[:-1]) * key.shape[-2] * (query.shape[-1] + value.shape[-1])
    if name == "einsum" and isinstance(args[0], str):
        return _einsum(args[0], args[1:], output)
    return 0


def _einsum(equation: str, operands: Sequence[Any], output: Any) -> int:
    """Outputs times the sizes of the letters summed over."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    if len(operands) < 2:
        return 0
    sizes: dict[str, int] = {}
    for letters, operand in zip(left.split(","), operands):
        front, _, back = letters.partition("...")
        sizes |= dict(zip(front, operand.shape))
        sizes |= dict(zip(reversed(back), reversed(operand.shape)))
    summed = [x for x in sizes if (x not in right if arrow else left.count(x) > 1)]
    return prod(output.shape) * prod(sizes[x] for x in summed)
