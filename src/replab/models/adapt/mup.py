"""muP (2203.03466): one learning rate for all widths of a model, under Adam.

A model is compared with the same model at its base width. Dimensions that differ grow with width, and by how many of
its dimensions grow a parameter gets its share of the rate, its start and its multiplier:

| parameter | dimensions that grow | start | Adam's rate | forward |
|---|---|---|---|---|
| hidden weights | in and out | as drawn (variance 1 / fan-in) | / m | as it is |
| input weights, biases, norms, tokens | out | that of the base width | as it is | as it is |
| output weights | in | that of the base width | as it is | input / m |
| queries | – | – | – | * sqrt(1 / m), so that attention is scaled by 1/d |

m is the dimension's ratio to the base. At the base width nothing is touched: the model is the standard one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize

from replab.errors import ModelError

# model → (the parameters that are widths, the one that names the model's width)
WIDTHS = {
    "mlp": (("widths",), "widths"),
    "cnn": (("channels", "hidden"), "channels"),
    "nanovit": (("width", "ffn"), "width"),
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "mlp": {"widths": (512, 256)},
    "cnn": {"channels": (32, 64, 128), "hidden": 512},
    "nanovit": {"width": 192, "ffn": 384},
}


def width_of(model: str, params: Mapping[str, Any]) -> int:
    """What stands for a model's width: the widest layer of mlp and of cnn's convolutions, nanovit's tokens."""
    _known(model)
    value = {**DEFAULTS[model], **params}[WIDTHS[model][1]]
    return max(value) if isinstance(value, (list, tuple)) else value


def at_width(model: str, params: Mapping[str, Any], width: int) -> dict[str, Any]:
    """The model's parameters with all widths scaled by the same factor."""
    now = width_of(model, params)
    both = {**DEFAULTS[model], **params}

    def scaled(value: int) -> int:
        if value * width % now:
            raise ModelError(f"{model} at width {width} needs whole layer widths, got {value} x {width} / {now}")
        return value * width // now

    new = {
        key: [scaled(v) for v in both[key]] if isinstance(both[key], (list, tuple)) else scaled(both[key])
        for key in WIDTHS[model][0]
    }
    return {**params, **new}


def parametrise(model: nn.Module, base: nn.Module) -> nn.Module:
    """Bring a freshly drawn model to muP, in place; `base` is the same at its base width (its values are not read)."""
    then = dict(base.named_modules())
    for name, module in list(model.named_modules()):
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            _layer(module, then[name].weight.shape)  # type: ignore[union-attr, arg-type]
        elif isinstance(module, nn.MultiheadAttention):
            _attention(module, then[name].embed_dim)  # type: ignore[arg-type]
    return model


def _layer(layer: nn.Linear | nn.Conv2d, base: torch.Size) -> None:
    m = layer.weight.shape[1] / base[1]
    grows_in, grows_out = m != 1, layer.weight.shape[0] != base[0]
    with torch.no_grad():
        if layer.bias is not None:
            layer.bias.mul_(math.sqrt(m))  # drawn with 1 / sqrt(fan-in), but it should not shrink with width
        if grows_in and grows_out:
            layer.lr_shares = {"weight": 1 / m}  # on the module: a parameter's own attributes do not survive a copy
        elif grows_in:
            layer.weight.mul_(math.sqrt(m))
            layer.register_forward_pre_hook(lambda _, args: (args[0] / m,))


def _attention(attention: nn.MultiheadAttention, base: int) -> None:
    """The packed projection is a hidden weight; q·k / sqrt(d) becomes q·k * sqrt(base d) / d, d being a head's size."""
    m = attention.embed_dim / base
    if m == 1:
        return
    for name in ("in_proj_weight", "in_proj_bias"):
        parametrize.register_parametrization(attention, name, _Queries(math.sqrt(1 / m)), unsafe=True)
    packed: Any = attention.parametrizations
    packed.in_proj_weight.lr_shares = {"original": 1 / m}


class _Queries(nn.Module):
    """The rows of a packed q, k, v projection that make queries, scaled."""

    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale

    def forward(self, packed: torch.Tensor) -> torch.Tensor:
        queries, rest = packed.split([len(packed) // 3, len(packed) - len(packed) // 3])
        return torch.cat([queries * self.scale, rest])


def coordinates(model: nn.Module, batches: Any, steps: int, lr: float) -> dict[str, list[float]]:
    """Mean |output| of each linear and convolution layer on one batch, before training and after each step."""
    from replab.models.adapt.freezing import rate_groups

    params = list(model.parameters())
    optimizer = torch.optim.Adam(rate_groups(model, params, lr, None) or params, lr=lr)
    seen: dict[str, list[float]] = {}
    x, y = batches

    def watch(name: str) -> Any:
        return lambda module, args, output: seen.setdefault(name, []).append(float(output.detach().abs().mean()))

    layers = [(n, m) for n, m in model.named_modules() if isinstance(m, (nn.Linear, nn.Conv2d))]
    for step in range(steps + 1):
        handles = [m.register_forward_hook(watch(n)) for n, m in layers]
        loss = nn.functional.cross_entropy(model(x), y)
        for handle in handles:
            handle.remove()
        if step < steps:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return seen


def growth(by_width: Mapping[int, float]) -> float:
    """The exponent of a number's growth with width, by least squares on logarithms: 0 means it does not grow."""
    import numpy as np

    widths, values = zip(*sorted(by_width.items()))
    return float(np.polyfit(np.log(widths), np.log(np.maximum(values, 1e-12)), 1)[0])


def _known(model: str) -> None:
    if model not in WIDTHS:
        raise ModelError(f"--mup knows the widths of {', '.join(WIDTHS)}, not of {model}; leave --mup out")
