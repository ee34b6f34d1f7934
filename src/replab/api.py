"""The public functions: run, resume, load_run … The command line calls these and prints; so may a notebook.

Torch and all that needs it are imported when something is run: a mistyped name is refused before that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replab import preflight
from replab.data.source import source
from replab.errors import RecipeError, RunError, UnknownName
from replab.models.registry import MODELS
from replab.models.trust import KEPT, Trust, allowed, allowed_parts, remember
from replab.records.events import Events
from replab.records.record import Record, check_writable, runs_folder
from replab.records.terminal import watchers
from replab.records.trackers import base as trackers
from replab.runs.compare import RunList
from replab.runs.run import Run, finished_runs
from replab.search.engines import processes
from replab.search.engines.base import Workers
from replab.settings import own_parts
from replab.settings.own_parts import CALLED_WITH, kept_as
from replab.settings.recipe import Recipe
from replab.settings.rules import doubts
from replab.settings.signature import show_keywords
from replab.settings.text import parse_seconds
from replab.settings.words import count

if TYPE_CHECKING:
    from replab.backends.own_parts import Part
    from replab.data.images import Dataset
    from replab.training.experiment import Experiment

Model = str | Callable[..., Any]


@processes.waiting_ended()
def run(
    model: Model | None = None,
    data: Any = None,
    *,
    quiet: bool = False,
    events: Events | None = None,
    track: Sequence[str] = (),
    runs: str | Path | None = None,
    workers: Workers | int | str = "auto",
    checkpoint_every: float | str = "10m",
    ddp: int | None = None,
    **settings: Any,
) -> Run:
    """Search, train, evaluate and report. `settings` as prepare() takes them: recipe, fast, trials, lr, epochs …

    `events` tells what happens to its own subscribers; without it the terminal or notebook shows it, unless `quiet`.
    `track` names trackers: "csv", "tensorboard" … An epoch that takes longer than `checkpoint_every` has checkpoints in
    between. `ddp` processes train the model together, each with a share of every batch.

    Example:
        trained = replab.run("mlp", data="digits", fast=True, quiet=True)
        print(trained.metrics["accuracy"])
    """
    crew, every = workers if isinstance(workers, Workers) else Workers.asked(workers), seconds(checkpoint_every)
    trackers.check(track)
    check_writable(runs_folder(runs))
    silent, events = events is not None, events or Events(*watchers(quiet))
    experiment = prepare(model, data, runs=runs, workers=crew, **settings)
    from replab import pipeline
    from replab.records import environment
    from replab.search.budget import plan
    from replab.search.hire import settle
    from replab.training import cost
    from replab.training.ddp.lead import size

    team = size(ddp, experiment)
    for remark in (*experiment.data.remarks(), *doubts(experiment.recipe)):
        events.message(remark)
    if experiment.weights_summary is not None:
        events.message(experiment.weights_summary.sentence())
    processes.until_ready()
    experiment, measured, bought = plan(experiment, cost.measure(experiment))
    if bought:
        events.message(bought)
    events.tell("cost", text=measured.sentences(experiment))
    crew = settle(crew, experiment, measured, events)
    if crew.engine != "processes":
        processes.end_waiting()
    recipe = experiment.recipe
    trust_named(experiment.source, *experiment.own.values())
    here = environment.describe(experiment.device)
    if team.processes > 1:
        here["ddp"] = team.to_dict()
    record = Record.create(runs_folder(runs), recipe, here, _texts(experiment))
    events.tell("run", folder=str(record.folder), model=recipe.model, data=recipe.data)
    events.message(f"run folder: {record.folder}")
    with _resumable(record, events, silent), trackers.following(track, record.folder, asdict(recipe), events):
        pipeline.carry_out(record, experiment, measured, events, crew, every)
    return Run(record, experiment)


def prepare(
    model: Model | None = None,
    data: Any = None,
    *,
    recipe: Recipe | str | Path | None = None,
    fast: bool = False,
    trials: int | None = None,
    runs: str | Path | None = None,
    trust: Trust = False,
    workers: Workers | None = None,
    **settings: Any,
) -> Experiment:
    """All that can be wrong is found here. `settings` are a Recipe's keys: lr=1e-3, params={"dropout": 0.1} …

    `workers` of a search to come are started meanwhile.
    """
    wanted = preflight.requested(model, data, recipe=recipe, fast=fast, trials=trials, runs=runs, **settings)
    named, (given, live) = model, own_parts.named(settings)
    parts: dict[str, Any] = dict(live)
    if preflight.is_own_recipe(recipe):
        assert isinstance(recipe, (str, Path))
        record = Record(Path(recipe).resolve().parent)
        named = allowed(wanted.model, record, trust) if model is None else model
        own = own_parts.own_parts(wanted).items()
        parts |= allowed_parts(wanted, record, trust, given=[name for name, key in own if key in given])
    if workers is not None:
        processes.start_ahead(workers, wanted)
    from replab.training import prepare as preparing

    experiment = preparing.prepare(wanted, named, _images(data, wanted), parts, trust=trust)
    wanted = experiment.recipe
    if fast:  # a task may have settled what was left open
        asked = preflight.given({**settings, **({} if trials is None else {"search": {"trials": trials}})})
        wanted = wanted.fast(asked)
    if not isinstance(model, str) and model is not None:
        wanted = wanted.replace(model=experiment.source.name)
    return replace(experiment, recipe=wanted)


def _images(data: Any, recipe: Recipe) -> Dataset | None:
    """Data that was handed in as an object; None for a name or path, which the recipe has."""
    if data is None or isinstance(data, (str, Path)):
        return None
    from replab.data.decode.reading import Reading
    from replab.data.load import pick
    from replab.data.objects import dataset_of

    images = dataset_of(data, Reading(recipe.size, recipe.fit), seed=recipe.seed)
    return pick(images, seed=recipe.seed, limit=recipe.limit, classes=recipe.classes, per_class=recipe.per_class)


def resume(
    run: str | Path,
    *,
    data: Any = None,
    model: Model | None = None,
    trust: Trust = False,
    runs: str | Path | None = None,
    quiet: bool = False,
    events: Events | None = None,
    track: Sequence[str] = (),
    workers: Workers | int | str = "auto",
    checkpoint_every: float | str = "10m",
    ddp: int | None = None,
    **parts: Any,
) -> Run:
    """Continue a run that was interrupted; its end is the same as if it had been left alone.

    `parts`: its own loss, optimizer, schedule, augment or metric again, where they were functions of a session or
    have moved: as functions or FILE.py:FUNCTION, in the recipe's order where they are several.
    """
    crew, every = workers if isinstance(workers, Workers) else Workers.asked(workers), seconds(checkpoint_every)
    trackers.check(track)
    silent, events = events is not None, events or Events(*watchers(quiet))
    record = Record.open(run, runs_folder(runs))
    from replab import pipeline
    from replab.search.hire import settle
    from replab.training import cost, prepare
    from replab.training.ddp.lead import recorded

    recorded(record.read_json("environment.json", {}), ddp, record.id)
    recipe = record.recipe()  # told first: whoever interrupts the reading of the images learns how to resume, too
    events.tell("run", folder=str(record.folder), model=recipe.model, data=recipe.data)
    with _resumable(record, events, silent), trackers.following(track, record.folder, asdict(recipe), events):
        given = named_again(recipe, parts)
        experiment = prepare.reopen(record, model, trust, events.message, _images(data, recipe), given)
        again = [experiment.own[name] for name in given]
        trust_named(*([] if model is None else [experiment.source]), *again)
        measured = cost.measure(experiment)
        crew = settle(crew, experiment, measured, events)
        pipeline.carry_out(record, experiment, measured, events, crew, every)
    return Run(record, experiment)


@contextlib.contextmanager
def _resumable(record: Record, events: Events, silent: bool) -> Iterator[None]:
    """An interruption leaves a run that can be resumed, and says how. `silent`: the command line has its own words."""
    try:
        yield
    except KeyboardInterrupt:
        if not silent:
            events.message(f"interrupted; replab.resume({str(record.folder)!r}) continues it")
        raise


def seconds(time: float | str) -> float:
    """Of 10m, 90s or a number."""
    found = parse_seconds(str(time))
    if not 0 < found < inf:
        raise RecipeError(f"--checkpoint-every must be above 0 seconds, got {time}; the default is 10m")
    return found


def load_run(
    run: str | Path, runs: str | Path | None = None, *, model: Model | None = None, trust: Trust = False, **parts: Any
) -> Run:
    """A run by id, path or `latest`. Looking at it imports and executes nothing; using a model file of its own takes
    `model`, your own FILE.py:FUNCTION, or `trust=True`, which runs the text in its folder. A trained model needs no
    other part; what trains or evaluates with them again takes `parts` as resume() does.

    Example:
        trained = replab.load_run("latest")
    """
    record = Record.open(run, runs_folder(runs))
    return Run(record, model=model, trust=trust, parts=named_again(record.recipe(), parts) if parts else {})


def all_runs(runs: str | Path | None = None, notice: Callable[[str], None] = lambda line: None) -> RunList:
    """Every finished run that can be read, a table in a notebook; `notice` is told of those that cannot.

    Example:
        best = max(replab.all_runs(), key=lambda one: one.metrics["accuracy"])
    """
    return RunList(finished_runs(runs_folder(runs), notice))


def trust_named(*parts: Part) -> None:
    """Files that the caller named may be run again when one of the runs made with them is used."""
    for part in parts:
        if part.path is not None and part.sha256 is not None:
            remember(part.sha256, part.place.rpartition(":")[2], part.path)


def _texts(experiment: Experiment) -> dict[str, str]:
    """The user's code as a run keeps it: file of the folder → text."""
    texts = {KEPT: experiment.source.text, **{kept_as(name): part.text for name, part in experiment.own.items()}}
    return {file: text for file, text in texts.items() if text}


def named_again(recipe: Recipe, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a caller gives for a run's own parts, by the names these have in its recipe."""
    parts: dict[str, Any] = {}
    for setting, value in given.items():
        if setting not in CALLED_WITH:
            raise UnknownName("own part", setting, CALLED_WITH, "known: " + ", ".join(CALLED_WITH))
        names = [name for name, key in own_parts.own_parts(recipe).items() if key == setting]
        values = list(value) if isinstance(value, (list, tuple)) else [value]
        if len(names) != len(values):
            raise RunError(f"the run has {count(len(names), f'{setting} of its own')}, got {len(values)}; give as many")
        parts |= dict(zip(names, values))
    return parts


def list_models() -> list[str]:
    """The names of registered models.

    Example:
        assert "cnn" in replab.list_models()
    """
    return MODELS.names()


def list_datasets() -> list[str]:
    """The names of registered data sets.

    Example:
        assert "digits" in replab.list_datasets()
    """
    return source.names()


show_keywords(prepare)
show_keywords(run, prepare)
