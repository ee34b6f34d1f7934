"""torch.amp: mixed precision as a no-op. Everything is computed in the tensors' own types, as with enabled=False."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from .tensor import Tensor


class autocast:
    """A context and a decorator that changes nothing: there is no faster half precision on NumPy."""

    def __init__(self, device_type: str = "cpu", dtype: Any = None, enabled: bool = True, cache_enabled: Any = None):
        self.device, self.fast_dtype, self._enabled = device_type, dtype, enabled

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return call


class GradScaler:
    """Losses keep their scale, because float32 gradients do not underflow as half precision ones do."""

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16, *settings: Any, **more: Any):
        self._enabled = False

    def scale(self, outputs: Tensor | Iterable[Tensor]) -> Any:
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        """Nothing was scaled."""

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """No scale to change."""

    def get_scale(self) -> float:
        return 1.0

    def is_enabled(self) -> bool:
        return False

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """No state to restore."""


def is_autocast_available(device_type: str) -> bool:
    return False


def custom_fwd(fwd: Callable | None = None, **settings: Any) -> Callable:
    return fwd if fwd is not None else (lambda function: function)


def custom_bwd(bwd: Callable | None = None, **settings: Any) -> Callable:
    return bwd if bwd is not None else (lambda function: function)
