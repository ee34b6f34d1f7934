"""Gradient clipping, and all parameters as one vector."""

import importlib
from typing import Any

from mytorch.absent import is_absent
from mytorch.absent import module as absent_module
from mytorch.dtypes import unsupported

from . import rnn
from .clip_grad import clip_grad_norm_, clip_grad_value_, get_total_norm
from .clip_grad import clip_grad_norm_ as clip_grad_norm  # its older name
from .convert_parameters import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "skip_init",
    "vector_to_parameters",
]


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Any:
    """A module whose values are about to be loaded. Drawing them anyway changes nothing that is promised."""
    return module_cls(*args, **kwargs)


def __getattr__(name: str) -> Any:
    """weight_norm and spectral_norm are built on modules, which need nn.utils.rnn: they are imported when asked for."""
    later = ("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm")
    if name in ("parametrizations", "parametrize", "prune"):
        return importlib.import_module(f"mytorch.nn.utils.{name}")
    if name in later:
        return getattr(importlib.import_module("mytorch.nn.utils.reparametrized"), name)
    if is_absent(f"torch.nn.utils.{name}"):
        return absent_module(f"torch.nn.utils.{name}")
    raise unsupported(f"torch.nn.utils.{name}")
