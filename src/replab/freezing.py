"""Head and backbone: which layer is the head, what is frozen, and each parameter's share of the learning rate.

The head is the last linear (or, without one, convolutional) layer. What is frozen gets no gradient and stays in
eval mode: its BatchNorm keeps its statistics, its dropout drops nothing.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from replab.errors import ModelError, UnknownName

HIDDEN = 512  # of an MLP head


def head_name(model: nn.Module) -> str:
    """Dotted name of the head."""
    if hasattr(model, "head_name"):
        return str(model.head_name)
    named = list(model.named_modules())
    for kind in (nn.Linear, nn.Conv2d):
        found = [name for name, module in named if isinstance(module, kind) and name]
        if found:
            return found[-1]
    raise ModelError(f"{type(model).__name__} has no linear layer to take for its head; name another model")


def head(model: nn.Module) -> nn.Module:
    return model.get_submodule(head_name(model))


def replace_head(model: nn.Module, kind: str) -> None:
    """An MLP in the place of the linear head."""
    name, old = head_name(model), head(model)
    if kind == "mlp":
        if not isinstance(old, nn.Linear):
            raise ModelError(f"--head mlp replaces a linear head, and {name} is {type(old).__name__}")
        new = nn.Sequential(nn.Linear(old.in_features, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, old.out_features))
        set_module(model, name, new)
        model.head_name = name


def set_module(model: nn.Module, name: str, new: nn.Module) -> None:
    parent, _, leaf = name.rpartition(".")
    setattr(model.get_submodule(parent), leaf, new)


def freeze(model: nn.Module, until: str = "") -> None:
    """Freeze all but the head, or all that comes before the layer named `until`."""
    if not until:
        kept = {id(p) for p in head(model).parameters()}
        still = [m for m in model.modules() if m not in set(head(model).modules())]
        frozen = [p for p in model.parameters() if id(p) not in kept]
    else:
        frozen = _before(model, until)
        ids = {id(p) for p in frozen}
        groups = [m for m in model.modules() if (own := list(m.parameters())) and all(id(p) in ids for p in own)]
        still = [inner for group in groups for inner in group.modules()]
    for parameter in frozen:
        parameter.requires_grad_(False)
    for module in still:
        module.held_still = True


def _before(model: nn.Module, until: str) -> list[nn.Parameter]:
    named = list(model.named_parameters())
    bare = [name.removeprefix("net.") for name, _ in named]
    at = next((i for i, name in enumerate(bare) if name.startswith(until + ".")), None)
    if at is None:
        layers = list(dict.fromkeys(name.rpartition(".")[0] for name in bare))
        tops = list(dict.fromkeys(name.partition(".")[0] for name in bare))
        raise UnknownName("layer", until, [*tops, *layers], f"--freeze-until takes one of {', '.join(tops)} or inside")
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
    """Parameters by their share of the learning rate, as an optimiser's groups; None where all have all of it."""
    kept = {id(p) for p in head(model).parameters()} if lr_backbone is not None else set()
    shares: dict[float, list[Any]] = {}
    for p in params:
        share = getattr(p, "lr_share", 1.0)  # a parametrisation's
        if lr_backbone is not None and id(p) not in kept:
            share *= lr_backbone / lr
        shares.setdefault(share, []).append(p)
    if set(shares) == {1.0}:
        return None
    return [{"params": group, "lr": lr * share, "share": share} for share, group in shares.items()]
