"""The kind of all trackers, whether one can be used here, and following a run from its folder to its end."""

from __future__ import annotations

import contextlib
import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from replab.errors import ReplabError
from replab.records.events import Event, Events
from replab.registry import Kind

tracker = Kind("tracker", "replab.records.trackers", "tracker", "known: {names}", "replab.trackers")


class Tracker:
    """A tracker hears every event of a run; `end` is called once, with the metrics of a run that was finished."""

    def hear(self, event: Event) -> None: ...

    def end(self, metrics: Mapping[str, float] | None) -> None: ...


def check(names: Iterable[str]) -> None:
    """Refuse an unknown tracker, and one whose package is not installed, before anything is written."""
    for name in names:
        tracker.check(name)
        package = getattr(tracker.get(name), "package", None)
        if package and not installed(package):
            extra = getattr(tracker.get(name), "install", package)
            raise ReplabError(f"--track {name} needs the package {package}, not installed; pip install {extra}")


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


@contextlib.contextmanager
def following(names: Iterable[str], folder: Path, recipe: dict[str, Any], events: Events) -> Iterator[None]:
    """These trackers hear what happens inside. One that fails is dropped and named; the run goes on."""
    trackers = []
    for name in names:
        with _dropped_if_it_fails(name, events):
            trackers.append((name, tracker.get(name)(folder, recipe)))
            events.add(trackers[-1][1])
    finished = False
    try:
        yield
        finished = True
    finally:
        for name, one in trackers:
            events.remove(one)
            with _dropped_if_it_fails(name, events):
                metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8")) if finished else None
                getattr(one, "end", lambda metrics: None)(metrics)


@contextlib.contextmanager
def _dropped_if_it_fails(name: str, events: Events) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        events.message(f"{name} does not follow this run: {type(error).__name__}: {text}")


def epoch_of(event: Event) -> tuple[int, dict[str, float]] | None:
    """(epoch, its numbers) of the training; None for other events, and for the epochs of trials."""
    if event.kind != "epoch" or "trial" in event.facts:
        return None
    return int(event.facts["epoch"]), {k: float(v) for k, v in event.facts["row"].items() if v is not None}


def flat(recipe: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """A recipe's settings by dotted names: search.trials."""
    pairs: dict[str, Any] = {}
    for key, value in recipe.items():
        if isinstance(value, Mapping):
            pairs |= flat(value, f"{above}{key}.")
        else:
            pairs[f"{above}{key}"] = list(value) if isinstance(value, tuple) else value
    return pairs
