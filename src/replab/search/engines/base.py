"""Engines run jobs: here, in processes of this machine, on a cluster. They change no number.

What the jobs share is a Work: the trials of a search, whole runs, the trainings of a transfer. A job is plain values,
and so is what comes of it, so that both can travel as text. An entry is a function under `@engine` in a file of this
folder: it takes the work, the number of workers and an address, and returns an Engine.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from replab.errors import RecipeError, RunError
from replab.records.events import Events
from replab.registry import Kind
from replab.search.engines.address import check_address
from replab.search.stopping import NOTHING, Bars

engine = Kind("engine", "replab.search.engines", "engine", "known: {names}")

ATTEMPTS = 3  # at a job whose worker was lost


@dataclass(frozen=True)
class Workers:
    """Where jobs run, as a command says it. It is in no recipe: no number depends on it."""

    count: int | None = None  # None: as many as cores, GPUs and memory allow
    engine: str = "processes"
    address: str | None = None  # of a cluster

    @classmethod
    def asked(cls, count: str | int = "auto", engine_name: str = "processes", address: str | None = None) -> Workers:
        engine.check(engine_name)
        text = str(count).strip()
        if text != "auto" and not (text.isdecimal() and int(text) > 0):
            raise RecipeError(f"--workers must be auto or a whole number of at least 1, got {count!r}; leave it out")
        if engine_name == "in-process" and text not in ("auto", "1"):
            raise RecipeError(
                f"--engine in-process runs one after another, got --workers {text}; leave one of them out"
            )
        if engine_name == "ray" and importlib.util.find_spec("ray") is None:
            raise RunError("--engine ray needs Ray, which is not installed; pip install 'replab[ray]'")
        if address is not None and engine_name != "ray":
            raise RecipeError(f"--ray-address needs --engine ray, got --engine {engine_name}")
        if engine_name == "ray":
            check_address(address or os.environ.get("RAY_ADDRESS"))
        return cls(None if text == "auto" else int(text), engine_name, address)


class Numbered(Protocol):
    """One job, as engines see it."""

    @property
    def number(self) -> int: ...
    @property
    def label(self) -> str: ...  # for people
    def to_dict(self) -> dict[str, Any]: ...


class Doing(Protocol):
    """How a job is done. What an engine yields is `result` of the values that `do` gave, perhaps in a worker."""

    def do(self, job: Mapping[str, Any], events: Events) -> dict[str, Any]: ...
    def result(self, values: dict[str, Any]) -> Any: ...


class Work(Doing, Protocol):
    """What jobs share. A worker makes it of what `describe` gives, by the function `made_by` (module:function)."""

    @property
    def threads(self) -> int: ...
    @property
    def device(self) -> str: ...
    def describe(self, folder: Path) -> dict[str, Any]: ...


def received(sent: Mapping[str, Any]) -> Work:
    """The work that a coordinator described."""
    module, _, name = sent["made_by"].partition(":")
    made: Work = getattr(importlib.import_module(module), name)(sent)
    return made


@dataclass(frozen=True)
class Job:
    """One trial to run. It is compared with those told when it was asked for, whatever runs beside it."""

    number: int
    params: dict[str, Any]
    bars: Bars = NOTHING  # of the trials told when it was asked for
    most: int | None = None  # epochs that a budget pays for
    epochs: int | None = None  # of its schedule, where it is shorter than the training's; then its last loss counts

    @property
    def label(self) -> str:
        return f"trial {self.number + 1}"

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "params": dict(self.params), "bars": vars(self.bars)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Job:
        return cls(**{**values, "bars": Bars(**values["bars"])})


class Done(NamedTuple):
    number: int
    result: Any  # of a trial: a Trial
    seconds: float
    where: str  # it ran: for people, no result depends on it


class Engine(Protocol):
    """`run` takes jobs from the left, those too that are added meanwhile, and may yield in any order.

    `close` ends what is still running; nothing is lost but its time.
    """

    count: int  # of jobs side by side

    def run(self, jobs: deque[Any], events: Events) -> Iterator[Done]: ...

    def close(self) -> None: ...


def out_of_memory(error: BaseException) -> bool:
    """Whether a job may go well where more memory is free."""
    text = str(error)
    return isinstance(error, MemoryError) or "can't allocate memory" in text or "out of memory" in text


def lost(job: Numbered, times: int, how: str) -> RunError:
    """What is said when a job has taken too many workers with it."""
    return RunError(
        f"{job.label} has lost {times} workers ({how}), perhaps for want of memory;"
        " replab resume goes on with fewer --workers"
    )
