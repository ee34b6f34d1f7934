"""Engines run the trials of a batch: here, in processes of this machine, on a cluster. They change no number.

A job is plain values, and so is what comes of it, so that both can travel as text. An entry is a function under
`@engine` in a file of this folder; it takes the Work and returns an Engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from replab.records.events import Events
from replab.records.trial import Trial


@dataclass(frozen=True)
class Job:
    """One trial to run. It is compared with those of earlier batches alone, whatever runs beside it."""

    number: int
    params: dict[str, Any]
    earlier: tuple[Trial, ...] = ()
    most: int | None = None  # epochs that a budget pays for


class Done(NamedTuple):
    trial: Trial
    seconds: float
    where: str  # it ran: for people, no result depends on it


class Engine(Protocol):
    """`run` may yield in any order. `close` ends what is still running; nothing is lost but its time."""

    def run(self, jobs: Sequence[Job], events: Events) -> Iterator[Done]: ...

    def close(self) -> None: ...
