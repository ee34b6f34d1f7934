"""torch.jit: scripting and tracing return the model unchanged, as compile does.

save() writes the whole module as torch.save does, and load() reads such files, not those of torch.jit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .absent import names_in
from .nn.modules.module import Module


class ScriptModule(Module):
    """The class of scripted modules in torch, for isinstance() in scripts; no object here is one."""


class ScriptFunction:
    """Like ScriptModule, but for functions."""


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    return obj


def trace(func: Any, *args: Any, **kwargs: Any) -> Any:
    return func


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    return drop if callable(drop) else (lambda function: function)


def export(fn: Callable) -> Callable:
    return fn


def unused(fn: Callable) -> Callable:
    return fn


def script_method(fn: Callable) -> Callable:
    return fn


def is_scripting() -> bool:
    return False


def is_tracing() -> bool:
    return False


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    from .serialization import save

    save(m, f)


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """Trusts the file, as torch.load(..., weights_only=False) does."""
    from .serialization import load

    return load(f, map_location=map_location, weights_only=False)


__getattr__ = names_in("torch.jit")
