"""The journal of a run: its events, one line of JSON each, appended to events.jsonl as they happen.

Live viewers follow it, and durations come from it. It holds no result: a torn last line is left out, nothing is lost.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from replab.records.events import Event

FILE = "events.jsonl"


class Journal:
    """Writes what it hears. Times are seconds since the epoch of clocks, to the millisecond."""

    def __init__(self, folder: Path):
        self.path = folder / FILE

    def hear(self, event: Event) -> None:
        if event.facts.get("what") == "epoch":  # batches: thousands per epoch
            return
        line = json.dumps({"event": event.kind, "time": round(time.time(), 3), **event.facts}, default=str)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def read(folder: Path) -> list[dict[str, Any]]:
    """The events so far; lines that are not whole are left out."""
    return [value for value in _lines(folder / FILE) if isinstance(value.get("event"), str)]


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    found = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except (json.JSONDecodeError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def times(folder: Path) -> list[dict[str, Any]]:
    """What took how long: entries with `stage` (features, search, train, evaluate) and `seconds`.

    An epoch that was made again after a kill counts each time: the time was spent.
    """
    found = _before_there_were_events(folder)
    for entry in read(folder):
        kind, seconds = entry["event"], entry.get("seconds")
        if not isinstance(seconds, (int, float)):
            continue
        if kind == "trial":
            elapsed = entry.get("elapsed")  # less than the trial's own seconds where others ran beside it
            own = elapsed if isinstance(elapsed, (int, float)) else seconds
            found.append({"stage": "search", "trial": entry.get("number"), "seconds": own})
        elif kind == "epoch" and "trial" not in entry:
            times = entry.get("times")
            found.append({"stage": "train", "seconds": seconds, **(times if isinstance(times, dict) else {})})
        elif kind == "stage":
            found.append({"stage": entry.get("stage"), "seconds": seconds})
    return found


def _before_there_were_events(folder: Path) -> list[dict[str, Any]]:
    """Entries of times.jsonl, which version 0.1 wrote."""
    return [
        entry
        for entry in _lines(folder / "times.jsonl")
        if isinstance(entry.get("stage"), str) and isinstance(entry.get("seconds"), (int, float))
    ]
