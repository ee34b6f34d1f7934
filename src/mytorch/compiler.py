"""torch.compiler and torch._dynamo: marks that tell a compiler what to do with a function.

mytorch compiles nothing, so a marked function is the function itself. Libraries (einops among them) set such marks
as soon as they are imported.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .absent import names_in

config = SimpleNamespace()  # settings of the compiler: scripts set them, nothing reads them


def disable(fn: Callable | None = None, recursive: bool = True, **options: Any) -> Any:
    return fn if fn is not None else (lambda function: function)


def allow_in_graph(fn: Any) -> Any:
    return fn


disallow_in_graph = forbid_in_graph = substitute_in_graph = assume_constant_result = run = allow_in_graph


def optimize(backend: Any = "inductor", **options: Any) -> Callable[[Any], Any]:
    return allow_in_graph


def is_compiling() -> bool:
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Does nothing: nothing was compiled."""


graph_break = cudagraph_mark_step_begin = reset


def mark_dynamic(tensor: Any, index: Any, **bounds: Any) -> None:
    """Does nothing: any size may change here."""


maybe_mark_dynamic = mark_static = mark_dynamic

__getattr__ = names_in("torch.compiler")
