"""Which parameters learn at which rate: groups for an optimizer, each with its share of the learning rate.

Biases and heads may have rates of their own, decoupled: their weight decay per step stays that of the other weights,
as airbench94 has it (2404.00498).
"""

from __future__ import annotations

from typing import Any

from replab.models.adapt import freezing
from replab.models.parts.whitening import BIAS_EPOCHS, whitening_layers
from replab.settings.recipe import Recipe


def groups(model: Any, params: list[Any], recipe: Recipe, by_kind: bool) -> list[dict[str, Any]] | None:
    """None where all have the full rate. `by_kind`: the optimizer treats weights of layers (`matrix`) otherwise."""
    assert recipe.lr is not None
    shared = freezing.rate_groups(model, params, recipe.lr, recipe.lr_backbone)
    layers = whitening_layers(model)
    if recipe.bias_rate_scale == recipe.head_rate_scale == 1.0 and not by_kind and not layers:
        return shared
    shares = {id(p): group["share"] for group in shared or () for p in group["params"]}
    last = {id(p) for p in freezing.head(model).parameters()} if needs_head(recipe, by_kind) else set()
    whitening = {id(layer.bias) for layer in layers}
    found: dict[tuple[float, float, bool, bool], list[Any]] = {}
    for p in params:
        scale = recipe.bias_rate_scale if p.ndim < 2 else recipe.head_rate_scale if id(p) in last else 1.0
        key = (shares.get(id(p), 1.0) * scale, scale, p.ndim > 1 and id(p) not in last, id(p) in whitening)
        found.setdefault(key, []).append(p)
    return [
        {
            "params": group, "lr": recipe.lr * share, "share": share, "weight_decay": recipe.weight_decay / scale,
            **({"matrix": matrix} if by_kind else {}),
            **({"epochs": BIAS_EPOCHS} if short else {}),
        }
        for (share, scale, matrix, short), group in found.items()
    ]  # fmt: skip


def needs_head(recipe: Recipe, by_kind: bool) -> bool:
    return by_kind or recipe.head_rate_scale != 1.0
