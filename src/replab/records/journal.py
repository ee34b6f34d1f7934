"""The journal of a run: its events, one line of JSON each, appended to events.jsonl as they happen.

Live viewers follow it, and durations come from it. It holds no result: a torn last line is left out, nothing is lost.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from replab import files
from replab.records.events import Event

FILE = "events.jsonl"
LONGEST = 2**53  # seconds, and counts
LARGEST = 2**28  # bytes; a longer one is none of ours, and is not read


class Journal:
    """Writes what it hears. Times are seconds since the epoch of clocks, to the millisecond."""

    def __init__(self, folder: Path):
        self.path = folder / FILE

    def hear(self, event: Event) -> None:
        if event.facts.get("what") == "epoch":  # batches: thousands per epoch
            return
        line = json.dumps({"event": event.kind, "time": round(time.time(), 3), **event.facts}, default=str)
        files.append(self.path, line.encode() + b"\n")


def read(folder: Path) -> list[dict[str, Any]]:
    """The events so far; lines that are not whole are left out."""
    return [value for value in _lines(folder / FILE) if isinstance(value.get("event"), str)]


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        text = files.read(path, LARGEST).decode(errors="replace")
    except OSError:
        return []
    found = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
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
        if not _is_number(seconds):
            continue
        if kind == "trial":
            elapsed = entry.get("elapsed")  # less than the trial's own seconds where others ran beside it
            own = elapsed if _is_number(elapsed) else seconds
            found.append({"stage": "search", "trial": entry.get("number"), "seconds": own})
        elif kind == "epoch" and "trial" not in entry:
            times = entry.get("times")
            kept = (
                {name: value for name, value in times.items() if _is_number(value)} if isinstance(times, dict) else {}
            )
            found.append({"stage": "train", **kept, "seconds": seconds})
        elif kind == "stage":
            found.append({"stage": str(entry.get("stage")), "seconds": seconds})
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LONGEST


def _before_there_were_events(folder: Path) -> list[dict[str, Any]]:
    """Entries of times.jsonl, which version 0.1 wrote."""
    return [
        entry
        for entry in _lines(folder / "times.jsonl")
        if isinstance(entry.get("stage"), str) and _is_number(entry.get("seconds"))
    ]
