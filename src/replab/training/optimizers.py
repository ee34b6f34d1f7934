"""Optimizers: one entry each, on either backend.

An optimizer is a function `(lib, params, *, lr, weight_decay, momentum, **options)` under `@optimizer` that returns an
object with torch's optimizer interface. `lib` is torch or mytorch, `params` a list of parameters or of groups, and
`options` what the backend adds (`fused=True` where torch has it).
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from replab.errors import RecipeError
from replab.settings.choices import optimizer


@optimizer
def adam(lib: Any, params: list[Any], *, lr: float, weight_decay: float, momentum: float, **options: Any) -> Any:
    """Adam (1412.6980)"""
    return as_is(lib.optim.Adam)(params, lr=lr, weight_decay=weight_decay, **options)


@optimizer
def adamw(lib: Any, params: list[Any], *, lr: float, weight_decay: float, momentum: float, **options: Any) -> Any:
    """Adam with decoupled weight decay (1711.05101)"""
    return as_is(lib.optim.AdamW)(params, lr=lr, weight_decay=weight_decay, **options)


@optimizer
def sgd(lib: Any, params: list[Any], *, lr: float, weight_decay: float, momentum: float, **options: Any) -> Any:
    """Stochastic gradient descent, with --momentum if given"""
    return as_is(lib.optim.SGD)(params, lr=lr, weight_decay=weight_decay, momentum=momentum, **options)


@optimizer
def nesterov(lib: Any, params: list[Any], *, lr: float, weight_decay: float, momentum: float, **options: Any) -> Any:
    """SGD that looks one step ahead; momentum 0.9 if none is given"""
    how = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum or 0.9, "nesterov": True, **options}
    return as_is(lib.optim.SGD)(params, **how)


def make(name: str, backend: Any, params: list[Any], *, lr: float, weight_decay: float, momentum: float) -> Any:
    """An optimizer by name. Fused where torch has it: one pass over each parameter instead of ten."""
    first = params[0]["params"][0] if isinstance(params[0], dict) else params[0]  # groups with rates of their own
    fused = backend.name == "torch" and first.device.type in ("cpu", "cuda")
    try:
        return optimizer.get(name)(
            backend.lib,
            params,
            lr=lr,
            weight_decay=weight_decay,
            momentum=momentum,
            **({"fused": True} if fused else {}),
        )
    except AttributeError as error:  # mytorch has not all of torch's
        raise RecipeError(f"{name} does not run on {backend.name} ({error}); use --backend torch") from None


def by_kind(name: str) -> bool:
    """Whether an optimizer treats the weights of layers otherwise than biases and the head."""
    return bool(getattr(optimizer.get(name), "by_kind", False))


@cache
def as_is(kind: Any) -> Any:
    """torch's own optimizer, without the import of torch's compiler: two seconds that nothing here needs.

    torch imports it in every step, to break the compiled graph there, and in four methods, to mark them as not to be
    compiled. The methods under those wrappers are the same.
    """
    if kind.__module__.startswith("mytorch"):
        return kind
    import torch

    names = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")
    methods = {name: inspect.unwrap(getattr(kind, name)) for name in names}
    return type(kind.__name__, (kind,), methods | {"step": torch.no_grad()(inspect.unwrap(kind.step))})
