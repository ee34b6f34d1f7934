"""What of a run is whole, what is damaged, and what can still be done with it. Needs neither torch nor the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from replab.errors import ReplabError, RunError
from replab.records import checkpoint, manifest
from replab.records.record import Record, find

# How a file is read, for those whose content can be wrong: the first pattern that fits.
READERS: tuple[tuple[str, Callable[[Record, str], Any]], ...] = (
    ("recipe.toml", lambda record, name: record.recipe()),
    ("chosen.toml", lambda record, name: record.chosen()),
    ("events.jsonl", lambda record, name: None),  # its readers leave out torn lines
    ("times.jsonl", lambda record, name: None),
    ("study.jsonl", lambda record, name: record.trials()),
    ("model.safetensors", lambda record, name: record.weights()),
    ("cuts.json", lambda record, name: record.read_json(name, [])),
    ("*.json", lambda record, name: record.read_json(name, {})),
    ("*.jsonl", lambda record, name: record.read_lines(name)),
    ("*.npz", lambda record, name: record.predictions(name)),
)

# What brings a file back, {run} being the run.
REMEDIES = (
    ("checkpoint*", "replab resume {run} continues from a whole checkpoint, or from epoch 1, to the same end"),
    ("figures/*", "replab report {run} makes it again"),
    ("report.*", "replab report {run} makes it again"),
    ("samples/*", "the grid of one epoch is lost; nothing else needs it"),
    ("events.jsonl", "remove it: only the durations are lost"),
    ("times.jsonl", "remove it: only the durations are lost"),
    ("fidelity.json", "replab fidelity {run} makes it again"),
    ("model.safetensors", "remove it, and replab resume {run} trains it again, to the same weights"),
    ("epochs.jsonl", "remove it and model.safetensors, and replab resume {run} trains again, to the same end"),
    ("fitted.npz", "remove it and metrics.json, and replab resume {run} makes them again"),
    ("metrics.json", "remove it, and replab resume {run} evaluates again"),
    ("*.np[yz]", "remove it and metrics.json, and replab resume {run} evaluates again"),
    ("facts.json", "remove it and metrics.json, and replab resume {run} evaluates again"),
    ("model_file.txt", "--model FILE.py:FUNCTION names the file instead"),
    ("part_file-*", "replab.resume(run, loss=...) names the file instead, likewise optimizer, schedule and the others"),
    ("*", "restore it from a copy, or start a new run"),
)

# What needs which files.
NEEDS = {
    "read in the leaderboard": ("recipe.toml", "chosen.toml", "environment.json", "input.json", "metrics.json"),
    "report": ("chosen.toml", "input.json", "metrics.json", "facts.json", "epochs.jsonl", "study.jsonl",
               "predictions.npz"),
    "predict": ("recipe.toml", "chosen.toml", "environment.json", "input.json", "model.safetensors", "model_file.txt"),
    "resume": ("recipe.toml", "chosen.toml", "environment.json", "input.json", "study.jsonl", "split.json",
               "cuts.json"),
}  # fmt: skip


@dataclass(frozen=True)
class Problem:
    name: str
    what: str
    remedy: str


@dataclass(frozen=True)
class Verdict:
    run: str
    whole: tuple[str, ...]
    problems: tuple[Problem, ...]
    unlisted: tuple[str, ...]  # files that the manifest does not know
    listed: bool  # False for runs of replab 0.1, which have no manifest

    def lines(self) -> list[str]:
        """The verdict in sentences."""
        count = f"{len(self.whole)} files are whole" if len(self.whole) != 1 else "1 file is whole"
        lines = [f"run {self.run}: {count}, {len(self.problems) or 'none'} damaged or missing"]
        if not self.listed:
            lines.append("there is no manifest (replab 0.1 wrote none): the files can be read, no more is known")
        lines += [f"! {problem.name}: {problem.what}; {problem.remedy}" for problem in self.problems]
        if self.unlisted and self.listed:
            lines.append(f"not in the manifest, so nothing is known of them: {', '.join(self.unlisted)}")
        if self.problems:
            spoilt = {problem.name for problem in self.problems}
            possible = [use for use, names in NEEDS.items() if not spoilt & set(names)]
            lines.append(f"still possible: {', '.join(possible) or 'nothing that needs these files'}")
        return lines


def opened(run: str | Path, runs: Path) -> Record:
    """A run to look at, even if the file that marks it as one is damaged."""
    record = Record(find(run, runs))
    if not record.has("environment.json") and not record.has(manifest.NAME):
        raise RunError(f"{record.folder} is not a run: it has neither environment.json nor {manifest.NAME}")
    return record


def verify(record: Record) -> Verdict:
    """Look at every file of a run."""
    entries = record.manifest.entries()
    present = manifest.names(record.folder)
    whole: list[str] = []
    problems = [
        Problem(manifest.NAME, f"line {number} is damaged", "what it says of its file is not known")
        for number in record.manifest.damaged_lines
    ]
    for name in entries:
        if name not in present and not record.manifest.whole(name, None) and not _superseded(record, name):
            problems.append(_problem(record, name, "it is missing"))
    for name in present:
        if fault := _fault(record, name):
            problems.append(_problem(record, name, fault))
        else:
            whole.append(name)
    return Verdict(
        record.id,
        tuple(whole),
        tuple(problems),
        tuple(name for name in present if name not in entries),
        bool(entries),
    )


def _fault(record: Record, name: str) -> str:
    """What is wrong with a file; nothing where it is whole."""
    read = next((read for pattern, read in READERS if fnmatch(name, pattern)), lambda record, name: None)
    try:
        if not record.manifest.whole(name, manifest.digest_of(record.path(name))):
            return "it is not what was written (SHA-256)"
        content: Any = read(record, name)
    except ReplabError as error:
        return str(error).removeprefix(f"run {record.id}: ").removeprefix(f"{name} ")
    if name == checkpoint.ROWS:
        numbers = [row["epoch"] for row in content]
        if numbers != list(range(1, len(numbers) + 1)):
            return f"its rows are of epochs {numbers}"
    return ""


def _superseded(record: Record, name: str) -> bool:
    """A checkpoint may be missing between two renames: its predecessor is there then."""
    return name == checkpoint.NEWEST and record.has(checkpoint.PREVIOUS)


def _problem(record: Record, name: str, what: str) -> Problem:
    remedy = next(text for pattern, text in REMEDIES if fnmatch(name, pattern))
    return Problem(name, what, remedy.format(run=record.id))
