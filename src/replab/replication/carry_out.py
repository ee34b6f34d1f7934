"""The runs behind published rows: found, resumed or made, one after another or side by side in workers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from replab import api, files, several
from replab.backends.backend import pick_device
from replab.errors import ReplabError
from replab.records.events import Events
from replab.records.record import Record
from replab.replication.packs import Row
from replab.runs.run import Run
from replab.search import hire
from replab.search.engines.base import Workers
from replab.settings.recipe import Recipe
from replab.settings.words import duration
from replab.training.prepare import prepare


@dataclass(frozen=True)
class Job:
    """One seed of one row."""

    row: Row
    way: str
    recipe: Recipe
    command: str  # repeats it on any machine


def one_by_one(
    jobs: Sequence[Job],
    seconds: dict[tuple[str, str], float],
    left_out: list[tuple[Job, str]],
    budget: float | None,
    started: float,
    runs: str | Path | None,
    fast: bool,
    renew: bool,
    events: Events,
    workers: Workers,
) -> Iterator[tuple[Job, Run | ReplabError]]:
    """Those that the budget has time for. What a row took is remembered in `seconds` for its next seed."""
    for job in jobs:
        key = (job.row.id, job.way)
        left = float("inf") if budget is None else budget - (perf_counter() - started)
        if seconds.get(key, 0.0) > left:
            left_out.append(
                (job, f"needs {duration(seconds[key])}, and {duration(max(left, 0))} of the budget is left")
            )
            continue
        events.message(f"\n{_name(job)}")
        begun = perf_counter()
        try:
            recipe = job.recipe.fast() if fast else job.recipe
            run: Run | ReplabError = _carry_out(recipe, runs, renew, events, workers)
            seconds[key] = perf_counter() - begun
        except ReplabError as error:
            run = error
        yield job, run


def side_by_side(
    jobs: Sequence[Job], crew: tuple[Workers, int], runs: str | Path | None, fast: bool, renew: bool, events: Events
) -> Iterator[tuple[Job, Run | ReplabError]]:
    """In workers, as they end; those that are there already come first."""
    todo: dict[int, several.Job] = {}
    for number, job in enumerate(jobs):
        recipe = job.recipe.fast() if fast else job.recipe
        known = None if renew else _begun(recipe, runs)
        if isinstance(known, Run):
            yield job, known
        else:
            begun = None if known is None else str(known.folder)
            todo[number] = several.Job(number, _name(job), recipe.to_toml(), begun)
    for number, run in several.side_by_side(list(todo.values()), crew, events, runs=runs):
        events.message(f"\n{_name(jobs[number])}")
        yield jobs[number], run


def crew_for(
    workers: Workers, jobs: Sequence[Job], budget: float | None, fast: bool, events: Events
) -> tuple[Workers, int] | None:
    """Workers for several rows at once; None: one after another. What each row needs is measured on a batch."""
    if budget is not None or len(jobs) < 2 or workers.count == 1 or workers.engine == "in-process":
        if budget is not None and (workers.count or 1) > 1:
            events.message("a budget decides row by row what still fits: the rows follow one another")
        return None
    device = pick_device(jobs[0].recipe.device, jobs[0].recipe.backend)
    if (workers.count or hire.room(device)) < 2 and workers.engine != "ray":
        return None
    rows: dict[str, several.Needs] = {}
    for job in jobs:
        if job.row.id not in rows:
            # a row that cannot be prepared here is left to the worker that is to run it, which says the same
            with contextlib.suppress(ReplabError):
                ready = prepare(job.recipe.fast() if fast else job.recipe)
                rows[job.row.id] = several.needed(ready, workers, len(jobs))
    needs = [rows.get(job.row.id, several.Needs()) for job in jobs]
    return several.crew_for(workers, needs, "", device, events)


def _name(job: Job) -> str:
    return f"{job.row.id} ({job.way}, seed {job.recipe.seed})"


def _carry_out(recipe: Recipe, runs: str | Path | None, renew: bool, events: Events, workers: Workers) -> Run:
    """The finished run of exactly this recipe: found, resumed or made; made in any case to `renew` it."""
    known = None if renew else _begun(recipe, runs)
    if isinstance(known, Run):
        events.message(f"found finished: {known.id}")
        return known
    if known is None:
        return api.run(recipe=recipe, runs=runs, events=events, workers=workers)
    events.message(f"resuming {known.id}")
    return api.resume(known.folder, runs=runs, events=events, workers=workers)


def _begun(recipe: Recipe, runs: str | Path | None) -> Run | Record | None:
    """The finished run of exactly this recipe, or the record of one that was begun."""
    unfinished = None
    for record in Record.all(api.runs_folder(runs)):
        try:
            same = record.recipe() == recipe
        except ReplabError:  # written by another version, or damaged: not this one
            continue
        if same and (run := Run(record)).finished and not _cut_short(record):
            return run
        unfinished = record if same else unfinished
    return unfinished


def _cut_short(record: Record) -> bool:
    """Whether its report was, by a kill: resuming the run finishes it and removes what was left."""
    return not record.has("report.md") or any(record.folder.rglob(f"*{files.TEMPORARY}"))
