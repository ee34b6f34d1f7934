"""What a run tells while it goes on. Everyone who watches hears the same events: terminal, log, journal, trackers.

| event | facts |
|---|---|
| run | folder, model, data: the run folder is there; worker and job where several runs are made side by side |
| cost | text, and the numbers it is made of |
| begin, step, end | what (search, train, epoch, features), total, done: work that can be counted |
| trial | number, total, state, value, params, seconds, elapsed since the last, where: a trial has ended |
| epoch | epoch, total, row, seconds, times; inside a search also trial, and worker where it runs in one |
| stage | stage, seconds: a stage without epochs or trials has ended |
| message | text: one line for a person |

A subscriber is an object with `hear(event)`. Facts are plain values, so that any of them can be written as JSON.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeVar

from replab import interruption

T = TypeVar("T")
ENDINGS = ("step", "trial", "epoch", "stage")  # of something: a request to end may be heeded there


class Event(NamedTuple):
    kind: str
    facts: dict[str, Any]


class Subscriber(Protocol):
    def hear(self, event: Event) -> None: ...


class Events:
    """Hands every event to every subscriber. `inside(trial=3)` tells the same subscribers with a fact added."""

    def __init__(self, *subscribers: Subscriber):
        self.subscribers: list[Subscriber] = list(subscribers)
        self._context: dict[str, Any] = {}

    def add(self, subscriber: Subscriber) -> None:
        self.subscribers.append(subscriber)

    def remove(self, subscriber: Subscriber) -> None:
        if subscriber in self.subscribers:
            self.subscribers.remove(subscriber)

    def inside(self, **context: Any) -> Events:
        inner = Events()
        inner.subscribers, inner._context = self.subscribers, {**self._context, **context}
        return inner

    def tell(self, kind: str, **facts: Any) -> None:
        """A subscriber that fails is dropped and named: nobody's plotting may end a training."""
        event = Event(kind, {**self._context, **facts})
        for subscriber in tuple(self.subscribers):
            try:
                subscriber.hear(event)
            except Exception as error:
                self.remove(subscriber)
                name, text = type(subscriber).__name__, " ".join(str(error).split())[:200]
                self.message(f"{name} is no longer told of this run: {type(error).__name__}: {text}")

        if kind in ENDINGS:
            interruption.heed()

    def message(self, text: str) -> None:
        self.tell("message", text=text)

    @contextlib.contextmanager
    def span(self, what: str, total: int, done: int = 0) -> Iterator[None]:
        """Work of `total` steps, `done` of which were done before."""
        self.tell("begin", what=what, total=total, done=done)
        try:
            yield
        finally:
            self.tell("end", what=what)

    def each(self, items: Iterable[T], what: str, total: int) -> Iterator[T]:
        """The items, with a step told after each."""
        with self.span(what, total):
            for item in items:
                yield item
                self.tell("step", what=what)


class Folder:
    """Remembers the run folders in use, so that an interruption can say how to resume."""

    def __init__(self) -> None:
        self.paths: dict[int | None, str] = {}  # by worker, where runs are made side by side

    def hear(self, event: Event) -> None:
        if event.kind == "run":
            self.paths[event.facts.get("worker")] = str(event.facts["folder"])
