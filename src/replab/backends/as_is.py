"""torch's optimizers without the import of its compiler."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any


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
