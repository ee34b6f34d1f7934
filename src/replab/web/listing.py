"""The runs of a folder as rows of a table: settings, metrics, and how far each run has come. No database."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from replab.errors import ReplabError, RunError
from replab.records import journal
from replab.records.record import Record
from replab.records.statistics import wilson
from replab.settings.searched import wanted_trials
from replab.settings.words import count, duration
from replab.tasks.metrics import key_of

SILENT = 120  # seconds without an event after which a run whose lock nobody holds has died
WATCHED = (
    "recipe.toml",
    "chosen.toml",
    "metrics.json",
    "epochs.jsonl",
    "study.jsonl",
    "events.jsonl",
    "manifest.jsonl",
)

Row = dict[str, Any]


class NotThere(RunError):
    """Nothing is at this address."""


class Listing:
    """Reads each run again only when one of its files has changed."""

    def __init__(self, runs: Path):
        self.runs = runs
        self._rows: dict[str, tuple[tuple[Any, ...], Row]] = {}

    def records(self) -> dict[str, Record]:
        """By id. A folder that leads elsewhere by a link is no run of this folder."""
        home = self.runs.resolve()
        found = Record.all(self.runs)
        return {r.id: r for r in found if not r.folder.is_symlink() or r.folder.resolve().parent == home}

    def record(self, id: str) -> Record:
        """One run, by its whole id: a name from an address is looked up, never joined to a path."""
        record = self.records().get(id)
        if record is None:
            raise NotThere("there is no such run in this folder")
        return record

    def rows(self) -> list[Row]:
        """The newest first."""
        records, held, now = self.records(), held_locks(), time.time()
        rows = []
        for id, record in sorted(records.items(), reverse=True):
            version = versions(record.folder)
            if self._rows.get(id, ((),))[0] != version:
                self._rows[id] = (version, described(record))
            rows.append({**self._rows[id][1], **state(record, self._rows[id][1], held, now)})
        for gone in self._rows.keys() - records.keys():
            del self._rows[gone]
        return rows


def versions(folder: Path) -> tuple[Any, ...]:
    """Changes when one of the watched files does."""
    seen = []
    for name in WATCHED:
        try:
            stat = os.stat(folder / name)
            seen.append((stat.st_mtime_ns, stat.st_size))
        except OSError:
            seen.append((0, 0))
    return tuple(seen)


def described(record: Record) -> Row:
    """Settings and metrics; of a run that cannot be read, why."""
    try:
        recipe = record.chosen() if record.has("chosen.toml") else record.recipe()
        metrics = record.read_json("metrics.json", {})
        settings = dict(recipe.described(without=("model", "data", "params")))
        settings |= {str(name): str(value) for name, value in recipe.params.items()}
        numbers = {name: value for name, value in metrics.items() if isinstance(value, (int, float))}
        images = int(record.read_json("input.json", {}).get("test_images", 0)) if "accuracy" in numbers else 0
        numbers, spans = with_spans(numbers, images)
        return {
            "run": record.id, "model": recipe.model, "data": Path(recipe.data).name, "settings": settings,
            "metrics": numbers, "spans": spans, "asked": [key_of(name) for name in recipe.metric],
            "fault": "", "finished": bool(metrics),
        }  # fmt: skip
    except (ReplabError, ValueError, TypeError, AttributeError, OSError) as error:
        return {
            "run": record.id, "model": "–", "data": "–", "settings": {}, "metrics": {}, "spans": {}, "asked": [],
            "fault": str(error).removeprefix(f"run {record.id}: "), "finished": False,
        }  # fmt: skip


def with_spans(numbers: dict[str, float], images: int) -> tuple[dict[str, float], dict[str, str]]:
    """Metrics, and how sure they are: an interval or a standard error belongs to its metric and is none itself."""
    spans = {}
    if "accuracy" in numbers:
        low, high = wilson(round(numbers["accuracy"] * images), images)
        spans["accuracy"] = f"{low:.1%} to {high:.1%}"
    for name in numbers:
        if f"{name}_se" in numbers:
            spans[name] = f"± {numbers[f'{name}_se']:.2g}"
        elif f"{name}_low" in numbers and f"{name}_high" in numbers:
            spans[name] = f"{numbers[f'{name}_low']:.4g} to {numbers[f'{name}_high']:.4g}"
    parts = {f"{name}{end}" for name in spans for end in ("_se", "_low", "_high")}
    return {name: value for name, value in numbers.items() if name not in parts}, spans


def held_locks() -> set[int] | None:
    """Inodes of files that some process holds a lock on; None where the system does not tell."""
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
        return {int(line.split()[-3].rpartition(":")[2]) for line in lines if "->" not in line}
    except (OSError, ValueError, IndexError):
        return None


def state(record: Record, row: Row, held: set[int] | None, now: float) -> Row:
    """Where a run stands now, in words, and how long it will still take."""
    if row["fault"]:
        return {"state": "damaged", "progress": row["fault"], "live": False}
    if row["finished"]:
        return {"state": "finished", "progress": "", "live": False}
    events = journal.read(record.folder)
    last = max((e["time"] for e in events if isinstance(e.get("time"), (int, float))), default=0.0)
    live = is_held(record, held) if held is not None else now - last < SILENT
    where, left = progress(record, events)
    if not live:
        return {"state": "stopped", "progress": f"{where}; replab resume {record.id} continues it", "live": False}
    text = f"{where}, about {duration(left)} left" if left else where
    return {"state": "searching" if where.startswith("trial") else "training", "progress": text, "live": True}


def is_held(record: Record, held: set[int]) -> bool:
    try:
        return os.stat(record.path(".lock")).st_ino in held or record.has(".lock.pid")
    except OSError:
        return False


def progress(record: Record, events: list[dict[str, Any]]) -> tuple[str, float]:
    """(what has been done, seconds left for this stage)."""
    epochs = [e for e in events if e["event"] == "epoch" and "trial" not in e]
    if epochs:
        done, total = epochs[-1].get("epoch", 0), epochs[-1].get("total") or 0
        recent = [float(e.get("seconds") or 0) for e in epochs[-5:]]
        return f"epoch {done} of {total}", max(0, total - done) * sum(recent) / len(recent)
    trials = [e for e in events if e["event"] == "trial"]
    if trials and not record.has("chosen.toml"):
        total = trials[-1].get("total") or 0
        times = [float(e.get("seconds") or 0) for e in trials]
        return f"trial {len(trials)} of {total}", max(0, total - len(trials)) * sum(times) / len(times)
    if record.has("chosen.toml"):
        return f"epoch 0 of {record.chosen().epochs}", 0.0
    return f"trial 0 of {count(wanted_trials(record.recipe()), 'trial').split()[0]}", 0.0
