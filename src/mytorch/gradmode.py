"""Whether operations are recorded: no_grad, enable_grad, set_grad_enabled, each a context and a decorator."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class _State:
    __slots__ = ("enabled", "run")

    def __init__(self) -> None:
        self.enabled = True
        self.run = 0  # counts backward passes, so that what one left behind is not taken for another's


state = _State()


def is_grad_enabled() -> bool:
    return state.enabled


class _Mode:
    """Sets the mode inside `with` (or inside a decorated function) and puts the old one back."""

    value = True

    def __new__(cls, function: Any = None, *args: Any) -> Any:
        made = super().__new__(cls)
        if callable(function):  # @torch.no_grad without parentheses
            made._before = []
            return made(function)
        return made

    def __init__(self, *_: Any) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(state.enabled)
        state.enabled = self.value

    def __exit__(self, *exc: Any) -> None:
        state.enabled = self._before.pop()

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def in_mode(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return in_mode


class no_grad(_Mode):
    value = False


class enable_grad(_Mode):
    value = True


class inference_mode(_Mode):
    def __init__(self, mode: Any = True):
        super().__init__()
        self.value = not mode


class set_grad_enabled(_Mode):
    """Acts at once when called as a function, and puts the old mode back when used in `with`."""

    def __init__(self, mode: bool):
        super().__init__()
        self.value = mode
        self._outer = state.enabled
        state.enabled = mode

    def __enter__(self) -> None:
        self._before.append(self._outer)
        state.enabled = self.value
