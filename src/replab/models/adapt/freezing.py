"""Head and backbone: which layer is the head, what is frozen, and each parameter's share of the learning rate.

The head is the last linear (or, without one, convolutional) layer. What is frozen gets no gradient and stays in
eval mode: its BatchNorm keeps its statistics, its dropout drops nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from replab.errors import ModelError, UnknownName

MOST = 0.8  # of a model's parameters: a child that holds more is not one stage


def head_name(model: nn.Module) -> str:
    """Dotted name of the head."""
    if hasattr(model, "head_name"):
        return str(model.head_name)
    named = list(model.named_modules())
    for kind in (nn.Linear, nn.Conv2d):
        found = [name for name, module in named if isinstance(module, kind) and name]
        if found:
            return found[-1]
    raise ModelError(f"{type(model).__name__} has no linear layer that could be its head; use another model")


def head(model: nn.Module) -> nn.Module:
    return model.get_submodule(head_name(model))


def replace_head(model: nn.Module, make: Callable[[nn.Linear], nn.Module]) -> None:
    """Put another head in place of the linear one."""
    name, old = head_name(model), head(model)
    if not isinstance(old, nn.Linear):
        raise ModelError(f"--head replaces a linear head, and {name} is {type(old).__name__}; leave --head out")
    set_module(model, name, make(old))
    model.head_name = name


def set_module(model: nn.Module, name: str, new: nn.Module) -> None:
    parent, _, leaf = name.rpartition(".")
    setattr(model.get_submodule(parent), leaf, new)


def freeze(model: nn.Module, until: str = "") -> None:
    """Freeze all but the head, or all that comes before the layer named `until`."""
    if until:
        _hold(model, _before(model, until))
    else:
        _hold(model, _backbone(model), still=_outside_head(model))


def open_stages(model: nn.Module, count: int) -> None:
    """Gradual unfreezing: the head and the last `count` stages before it train, the rest is frozen."""
    starts, backbone = stages(model), _backbone(model)
    for parameter in backbone:
        parameter.requires_grad_(True)
    if count == 0:
        _hold(model, backbone, still=_outside_head(model))
    else:
        _hold(model, backbone[: starts[-count] if count < len(starts) else 0])


def stages(model: nn.Module) -> list[int]:
    """Where each stage begins among the backbone's parameters, first to last.

    A stage is a child of the model with weights, and the norms that follow it. A child that is most of the model (an
    encoder, torchvision's `features`) is taken apart.
    """
    total = sum(p.numel() for p in model.parameters())
    places = {id(p): i for i, p in enumerate(_backbone(model))}

    def parts(module: nn.Module) -> list[nn.Module]:
        found = []
        for child in module.children():
            most = sum(p.numel() for p in child.parameters()) > MOST * total
            found += parts(child) if most and list(child.children()) else [child]
        return found

    own = [[p for p in part.parameters() if id(p) in places] for part in parts(model)]
    starts = sorted({min(places[id(p)] for p in group) for group in own if any(p.ndim > 1 for p in group)})
    return [0, *starts[1:]]  # what comes before the first, as tokens and positions, goes with it


def _backbone(model: nn.Module) -> list[nn.Parameter]:
    kept = {id(p) for p in head(model).parameters()}
    return [p for p in model.parameters() if id(p) not in kept]


def _outside_head(model: nn.Module) -> set[nn.Module]:
    return set(model.modules()) - set(head(model).modules())


def _hold(model: nn.Module, frozen: list[nn.Parameter], still: set[nn.Module] | None = None) -> None:
    """No gradient for these parameters; eval mode for the modules in `still`, or those with no other parameters."""
    if still is None:
        ids = {id(p) for p in frozen}
        groups = [m for m in model.modules() if (own := list(m.parameters())) and all(id(p) in ids for p in own)]
        still = {inner for group in groups for inner in group.modules()}
    for parameter in frozen:
        parameter.requires_grad_(False)
    for module in model.modules():
        module.held_still = module in still


def _before(model: nn.Module, until: str) -> list[nn.Parameter]:
    named = list(model.named_parameters())
    bare = [name.removeprefix("net.") for name, _ in named]
    at = next((i for i, name in enumerate(bare) if name.startswith(until + ".")), None)
    if at is None:
        layers = list(dict.fromkeys(name.rpartition(".")[0] for name in bare))
        tops = list(dict.fromkeys(name.partition(".")[0] for name in bare))
        raise UnknownName(
            "layer", until, [*tops, *layers], f"--freeze-until takes {', '.join(tops)}, or a layer inside"
        )
    if at == 0:
        raise ModelError(f"--freeze-until {until} freezes nothing: it is the first layer; name a later one")
    return [parameter for _, parameter in named[:at]]


def train_mode(model: Any) -> None:
    """model.train(), but what is frozen stays in eval mode."""
    model.train()
    for module in model.modules():
        if getattr(module, "held_still", False):
            module.training = False


def rate_groups(model: Any, params: list[Any], lr: float, lr_backbone: float | None) -> list[dict[str, Any]] | None:
    """Parameters grouped by their share of the learning rate, for an optimizer; None where all have the full rate."""
    kept = {id(p) for p in head(model).parameters()} if lr_backbone is not None else set()
    own = {
        id(getattr(module, name)): share
        for module in model.modules()
        for name, share in getattr(module, "lr_shares", {}).items()  # a parametrisation's
    }
    shares: dict[float, list[Any]] = {}
    for p in params:
        share = own.get(id(p), 1.0)
        if lr_backbone is not None and id(p) not in kept:
            share *= lr_backbone / lr
        shares.setdefault(share, []).append(p)
    if set(shares) == {1.0}:
        return None
    return [{"params": group, "lr": lr * share, "share": share} for share, group in shares.items()]
