"""Those of torch, which mytorch has too."""

from __future__ import annotations

from typing import Any

from replab.settings.choices import optimizer
from replab.training.optimizers import as_is


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


@optimizer
def nadam(lib: Any, params: list[Any], *, lr: float, weight_decay: float, momentum: float, **options: Any) -> Any:
    """Adam with Nesterov's momentum"""
    return as_is(lib.optim.NAdam)(params, lr=lr, weight_decay=weight_decay)


@optimizer
def radam(lib: Any, params: list[Any], *, lr: float, weight_decay: float, momentum: float, **options: Any) -> Any:
    """Adam that holds back until its second moment is known (1908.03265)"""
    return as_is(lib.optim.RAdam)(params, lr=lr, weight_decay=weight_decay)


@optimizer
def rmsprop(lib: Any, params: list[Any], *, lr: float, weight_decay: float, momentum: float, **options: Any) -> Any:
    """The gradient over the root of its mean square, with --momentum if given"""
    return as_is(lib.optim.RMSprop)(params, lr=lr, weight_decay=weight_decay, momentum=momentum)


@optimizer
def adagrad(lib: Any, params: list[Any], *, lr: float, weight_decay: float, momentum: float, **options: Any) -> Any:
    """The gradient over the root of the sum of its squares: rates that only fall"""
    return as_is(lib.optim.Adagrad)(params, lr=lr, weight_decay=weight_decay)
