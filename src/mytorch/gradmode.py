"""Whether operations are recorded: no_grad, enable_grad, set_grad_enabled, each a context and a decorator."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any


class _State(threading.local):
    """Each thread has its own state: a backward pass in one thread must not switch recording off in another."""

    enabled = True
    run = 0  # the number of the backward pass that runs, so that what one left behind is not taken for another's


state = _State()


def is_grad_enabled() -> bool:
    return state.enabled


class _Mode:
    """Sets the mode inside `with` (or inside a decorated function) and restores the old one afterwards."""

    value = True

    def __new__(cls, function: Any = None, *args: Any, **kwargs: Any) -> Any:
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
        if inspect.isgeneratorfunction(function):
            return self._generator(function)

        @functools.wraps(function)
        def in_mode(*args: Any, **kwargs: Any) -> Any:
            # not `with self`: two threads may be inside the function at once
            before, state.enabled = state.enabled, self.value
            try:
                return function(*args, **kwargs)
            finally:
                state.enabled = before

        return in_mode

    def _generator(self, function: Callable) -> Callable:
        """The mode applies while the generator runs, and not in the loop that consumes its values."""

        @functools.wraps(function)
        def in_mode(*args: Any, **kwargs: Any) -> Any:
            running, value = function(*args, **kwargs), None
            while True:
                before, state.enabled = state.enabled, self.value
                try:
                    made = running.send(value)
                except StopIteration as end:
                    return end.value
                finally:
                    state.enabled = before
                value = yield made

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
    """Takes effect at once when called as a function; used in `with`, it restores the old mode at the end."""

    def __init__(self, mode: bool):
        super().__init__()
        self.value = mode
        self._outer = state.enabled
        state.enabled = mode

    def __enter__(self) -> None:
        self._before.append(self._outer)
        state.enabled = self.value

    def __call__(self, function: Callable) -> Callable:
        state.enabled = self._outer  # as a decorator it acts inside the function only
        return super().__call__(function)
