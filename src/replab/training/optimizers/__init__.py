"""Optimizers, in files of this folder: one entry each, on either backend.

An optimizer is a function `(lib, params, *, lr, weight_decay, momentum, **options)` under `@optimizer` that returns an
object with torch's optimizer interface. `lib` is torch or mytorch, `params` a list of parameters or of groups, and
`options` what the backend adds (`fused=True` where torch has it).
"""

from __future__ import annotations

from typing import Any

from replab.backends.as_is import as_is as as_is
from replab.backends.own_parts import Part, Parts, accepts, users_code
from replab.errors import ModelError, RecipeError
from replab.settings.choices import optimizer
from replab.settings.own_parts import is_own

INTERFACE = ("param_groups", "step", "zero_grad", "state_dict", "load_state_dict")  # what training uses


def make(name: str, backend: Any, params: list[Any], parts: Parts, **numbers: float) -> Any:
    """An optimizer by name. Fused where torch has it: one pass over each parameter instead of ten."""
    if name in parts:
        return of_own(parts[name], backend, params, numbers)
    first = params[0]["params"][0] if isinstance(params[0], dict) else params[0]  # groups with rates of their own
    fused = backend.name == "torch" and first.device.type in ("cpu", "cuda")
    try:
        return optimizer.get(name)(backend.lib, params, **numbers, **({"fused": True} if fused else {}))
    except AttributeError as error:  # mytorch has not all of torch's
        raise RecipeError(f"{name} does not run on {backend.name} ({error}); use --backend torch") from None


def by_kind(name: str) -> bool:
    """Whether an optimizer treats the weights of layers otherwise than biases and the head."""
    return not is_own(name) and bool(getattr(optimizer.get(name), "by_kind", False))


def of_own(part: Part, backend: Any, params: list[Any], numbers: dict[str, float]) -> Any:
    """One of the user's own, called with params and lr, and with weight_decay and momentum where it takes them."""
    for key, value in numbers.items():
        if value and not accepts(part.function, key):
            raise RecipeError(f"{part.name} takes no {key}, got {value:g}; leave --{key.replace('_', '-')} out")
    given = {key: value for key, value in numbers.items() if accepts(part.function, key)}
    function: Any = part.function
    if getattr(function, "__module__", "").startswith("torch.optim."):
        function = as_is(function)
    with users_code(f"{part.name} refuses its parameters", part.path):
        found = function(params, **given)
    missing = [name for name in INTERFACE if not hasattr(found, name)]
    if missing:
        raise ModelError(
            f"{part.name} must return an optimizer as torch has them, got {type(found).__name__} without"
            f" {', '.join(missing)}; docs/extend.md has an example"
        )
    return found
