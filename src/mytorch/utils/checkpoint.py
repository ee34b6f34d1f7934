"""torch.utils.checkpoint: same results as in torch, but nothing is recomputed and no memory is saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def checkpoint(function: Callable, *args: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    for name in ("preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop"):
        kwargs.pop(name, None)
    return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Sequence[Callable], segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    for function in functions:
        input = function(input)
    return input
