"""A simple torch.profiler: the time of the whole block and of the parts named with record_function.

There are no rows of single operations, no shapes, no memory and no traces. For those, use torch's profiler on torch.
"""

from __future__ import annotations

import contextlib
import enum
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .absent import names_in

_active: list[profile] = []


class ProfilerActivity(enum.Enum):
    CPU = 0
    CUDA = 2


@dataclass
class Event:
    """One row: times in microseconds; `self` is without what was named inside."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / max(self.count, 1)


class Events(list[Event]):
    def table(self, sort_by: str | None = None, row_limit: int = 100, **_: Any) -> str:
        rows = sorted(self, key=lambda e: -getattr(e, sort_by)) if sort_by else list(self)
        lines = [f"{'Name':40} {'Self CPU':>12} {'CPU total':>12} {'CPU avg':>12} {'Calls':>8}"]
        for e in rows[: row_limit if row_limit >= 0 else None]:
            times = (e.self_cpu_time_total, e.cpu_time_total, e.cpu_time)
            lines.append(f"{e.key:40} " + " ".join(f"{t / 1e3:10.3f}ms" for t in times) + f" {e.count:8}")
        return "\n".join(lines)


class record_function(contextlib.ContextDecorator):
    """Names a block; its time is added up in the profiler that is running, if there is one."""

    def __init__(self, name: str, args: Any = None):
        self.name = name

    def __enter__(self) -> record_function:
        for profiler in _active:
            profiler._begin(self.name)
        return self

    def __exit__(self, *exc: Any) -> None:
        for profiler in _active:
            profiler._end(self.name)


class profile:
    """Measures from start() to stop(), or in a `with`. A schedule is accepted and ignored: all steps are measured."""

    def __init__(
        self,
        enabled: bool = True,  # torch.autograd.profiler.profile's
        *,
        activities: Any = None,
        schedule: Callable[[int], Any] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        **others: Any,
    ):
        self.enabled, self.on_trace_ready = enabled, on_trace_ready
        self.step_num = 0
        self._events: dict[str, Event] = {}
        self._open: list[list] = []  # [name, when it began, seconds of what was named inside]

    def _begin(self, name: str) -> None:
        self._open.append([name, time.perf_counter(), 0.0])

    def _end(self, name: str) -> None:
        if not self._open or self._open[-1][0] != name:
            return  # it began before this profiler did
        _, start, inside = self._open.pop()
        seconds = time.perf_counter() - start
        event = self._events.setdefault(name, Event(name))
        event.count += 1
        event.cpu_time_total += seconds * 1e6
        event.self_cpu_time_total += (seconds - inside) * 1e6
        if self._open:
            self._open[-1][2] += seconds

    def start(self) -> None:
        if not self.enabled:
            return
        self._begin("profiled block")
        _active.append(self)

    def stop(self) -> None:
        if not self.enabled:
            return
        _active.remove(self)
        del self._open[1:]
        self._end("profiled block")
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self) -> None:
        self.step_num += 1

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.stop()

    def key_averages(self, *_: Any, **__: Any) -> Events:
        return Events(self._events.values())

    def events(self) -> Events:
        return self.key_averages()

    def __iter__(self) -> Iterator[Event]:
        return iter(self.key_averages())


def schedule(**_: int) -> Callable[[int], None]:
    return lambda step: None


__getattr__ = names_in("torch.profiler")
