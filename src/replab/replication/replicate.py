"""Published rows, run: plan → find what is done → run or resume → measure → ledger. What was left out is listed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from replab.errors import RecipeError, ReplabError, RunError
from replab.records.events import Events
from replab.records.terminal import watchers
from replab.replication import results as ledger
from replab.replication.carry_out import Job, crew_for, one_by_one, side_by_side
from replab.replication.entry import FIXED, NUMERICS, SEARCH, Entry, identity, packed
from replab.replication.measures import MEASURES
from replab.replication.packs import Published, Row
from replab.runs.run import Run
from replab.search import hire
from replab.search.engines.base import Workers
from replab.settings.words import duration
from replab.training import cost
from replab.training.prepare import prepare

# measured of every run beside its row's own figures, because claims compare them
ALWAYS = ("test_accuracy", "test_loss", "train_accuracy", "train_loss", "best_test_accuracy", "first_epoch_accuracy")


@dataclass(frozen=True)
class Outcome:
    finished: list[Entry]  # measured now or before
    left_out: list[tuple[Job, str]]  # with the reason


def plan(
    rows: Sequence[Row],
    *,
    seeds: int = 1,
    data: str | None = None,
    epochs: int | None = None,
    stop_after: int | None = None,
    search: bool = False,
    size: int | None = None,
    limit: int | None = None,
) -> list[Job]:
    """Every job that was asked for: the first seed of every row comes before any second seed."""
    if seeds < 1:
        raise RecipeError(f"seeds must be at least 1, got {seeds}")
    if search and (epochs or stop_after):
        given = f"--epochs {epochs}" if epochs else f"--stop-after {stop_after}"
        raise RecipeError(f"--search finds the epochs, got {given} too; leave one of them out")
    other = {"data": data, "size": size, "limit": limit, "stop_after": stop_after}
    return [_job(row, number, other, epochs, search) for number in range(seeds) for row in rows if not row.not_run]


def _job(row: Row, number: int, other: dict[str, Any], epochs: int | None, search: bool) -> Job:
    """`other`: settings that replace the row's (data, size, limit, stop_after)."""
    recipe = row.search_recipe() if search else row.recipe
    other = {k: v for k, v in other.items() if v is not None and v != getattr(row.recipe, k)}
    recipe = recipe.replace(seed=row.recipe.seed + number, epochs=epochs or recipe.epochs, **other)
    words = [*row.words, "--seeds", str(number + 1)]
    for key, value in other.items():
        words += [f"--{key.replace('_', '-')}", Path(value).name if key == "data" else str(value)]
    if epochs is not None:
        words += ["--epochs", str(epochs)]
    return Job(row, SEARCH if search else FIXED, recipe, shlex.join(words + (["--search"] if search else [])))


def replicate(
    jobs: Sequence[Job],
    known: Published,
    *,
    results: Path,
    runs: str | Path | None = None,
    budget: float | None = None,
    fast: bool = False,
    quiet: bool = False,
    events: Events | None = None,
    workers: Workers = hire.ALONE,
    renew: bool = False,
) -> Outcome:
    """Carry the jobs out. Finished seeds are not repeated; with `renew`, those that are stale are.

    With `fast`, results are measured but not kept.
    """
    started, events = perf_counter(), events or Events(*watchers(quiet))
    kept = [] if fast else ledger.read(results, events.message)
    done = {(e.id, e.recipe): e for e in kept if (not e.stale if renew else e.numerics in (None, NUMERICS))}
    finished = [done[key] for job in jobs if (key := (job.row.id, identity(job.recipe))) in done]
    todo = [job for job in jobs if (job.row.id, identity(job.recipe)) not in done]
    left_out: list[tuple[Job, str]] = []
    if finished:
        stale = sum(bool(entry.stale) for entry in finished)
        again = f", {stale} of them stale: --renew runs those again" if stale else ""
        events.message(f"{len(finished)} of {len(jobs)} are in {results / ledger.RAW} already{again}")
    seconds: dict[tuple[str, str], float] = {}
    if budget is not None:
        todo = _by_cost(todo, seconds, left_out, fast, events)
    crew = crew_for(workers, todo, budget, fast, events)
    if crew is None:
        made = one_by_one(todo, seconds, left_out, budget, started, runs, fast, renew, events, workers)
    else:
        made = side_by_side(todo, crew, runs, fast, renew, events)
    for job, run in made:
        try:
            if isinstance(run, ReplabError):
                raise run
            entry = measure(run, job)
            if job.row.parameters not in (None, here := run.facts.get("parameters")):
                events.message(f"{job.row.id}: published with {job.row.parameters:,} parameters, here are {here:,}")
        except ReplabError as error:
            if len(jobs) == 1:
                raise
            left_out.append((job, str(error)))
            events.message(f"left out: {error}")
            continue
        finished.append(entry)
        events.message("  ".join(f"{name} {values[0]:.4g}" for name, values in entry.values.items()))
        if not fast:
            ledger.append(results, entry, known, events.message)
    return Outcome(finished, left_out)


def _by_cost(
    jobs: Sequence[Job],
    seconds: dict[tuple[str, str], float],
    left_out: list[tuple[Job, str]],
    fast: bool,
    events: Events,
) -> list[Job]:
    """First seeds before second ones, then cheapest first. A few steps of each row are timed into `seconds`."""
    known: dict[tuple[str, str], str] = {}
    for job in jobs:
        key = (job.row.id, job.way)
        if key in seconds or key in known:
            continue
        try:
            ready = prepare(job.recipe.fast() if fast else job.recipe)
        except ReplabError as error:
            known[key] = str(error)
            continue
        estimate = cost.measure(ready)
        trained = estimate.train_seconds or estimate.epoch_seconds * ready.recipe.search.max_epochs
        seconds[key] = estimate.search_seconds + trained
        events.message(f"{job.row.id}: about {duration(seconds[key])} per seed")
    left_out += [(job, known[job.row.id, job.way]) for job in jobs if (job.row.id, job.way) in known]
    fit = [job for job in jobs if (job.row.id, job.way) in seconds]
    return sorted(fit, key=lambda job: (job.recipe.seed - job.row.recipe.seed, seconds[job.row.id, job.way]))


def measure(run: Run, job: Job) -> Entry:
    """A finished run as a line of the ledger."""
    environment, chosen = run.record.read_json("environment.json", {}), run.chosen
    if not run.epochs or chosen.lr is None:
        raise RunError(f"run {run.id} has no epochs; replab resume {run.id} finishes it")
    return Entry(
        id=job.row.id,
        way=job.way,
        seed=chosen.seed,
        values=_values(run, job.row),
        data=Path(run.input["data"]).name,
        epochs=len(run.epochs),
        lr=chosen.lr,
        minutes=round((run.seconds.get("search", 0.0) + run.seconds.get("train", 0.0)) / 60, 3),
        hardware=hardware(environment),
        commit=environment.get("commit") or "none",
        command=job.command,
        recipe=identity(job.recipe),
        size=job.recipe.size if job.recipe.size != job.row.recipe.size else None,
        limit=job.recipe.limit if job.recipe.limit != job.row.recipe.limit else None,
        stopped_of=chosen.epochs if chosen.stop_after else None,
        fingerprint=run.input["fingerprint"],
        numerics=NUMERICS,
        curve={name: [row[name] for row in run.epochs] for name in run.epochs[0] if name not in ("epoch", "lr")},
        flops=6.0 * macs * run.input["train_images"] * len(run.epochs) if (macs := run.facts.get("macs")) else None,
        right=packed(answers.right) if (answers := run.values.answers) is not None else None,
    )


def _values(run: Run, row: Row) -> dict[str, list[float | None]]:
    """The row's own figures, and those of ALWAYS that a run of this kind has."""
    own, values = {f.measure for f in row.figures}, {}
    for name in _wanted(row):
        try:
            values[name] = list(MEASURES[name].of(run))
        except KeyError:  # an autoencoder has no accuracy
            if name in own:
                raise
    return values


def _wanted(row: Row) -> list[str]:
    return list(dict.fromkeys([*(f.measure for f in row.figures), *ALWAYS]))


def hardware(environment: dict[str, Any]) -> str:
    """Processor and threads, or the GPU: no paths, no host names."""
    if environment.get("device") not in (None, "cpu"):
        return str(environment["device"])
    threads = environment.get("threads")
    return f"{environment.get('processor', 'CPU')}, {threads} thread{'' if threads == 1 else 's'}"
