"""The public functions: run, resume, load_run, compare. The command line calls these and prints; so may a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from replab import pipeline, preflight
from replab.data.source import source
from replab.errors import RunError
from replab.models.loader import ModelSource
from replab.models.registry import MODELS
from replab.models.trust import Trust, allowed, remember
from replab.records import environment
from replab.records.progress import Progress
from replab.records.record import Record, runs_folder
from replab.runs.run import Run, finished_runs
from replab.settings.recipe import Recipe
from replab.training import cost
from replab.training import experiment as setup

Model = str | Callable[..., Any]


def run(
    model: Model | None = None,
    data: str | None = None,
    *,
    quiet: bool = False,
    say: Callable[[str], None] = lambda line: None,
    runs: str | Path | None = None,
    **settings: Any,
) -> Run:
    """Search, train, evaluate and report. `settings` as prepare() takes them: recipe, fast, trials, lr, epochs …"""
    ready = prepare(model, data, runs=runs, **settings)
    summary = ready.weights_summary()
    if summary is not None:
        say(summary.sentence())
    measured = cost.measure(ready)
    say(measured.sentences(ready))
    trust_named(ready.source)
    here = environment.describe(ready.device)
    record = Record.create(runs_folder(runs), ready.recipe, here, ready.source.text or "")
    say(f"run folder: {record.folder}")
    pipeline.carry_out(record, ready, measured, Progress(quiet), say)
    return Run(record, ready)


def prepare(
    model: Model | None = None,
    data: str | None = None,
    *,
    recipe: Recipe | str | Path | None = None,
    fast: bool = False,
    trials: int | None = None,
    runs: str | Path | None = None,
    trust: Trust = False,
    **settings: Any,
) -> setup.Setup:
    """All that can be wrong is found here. `settings` are a Recipe's keys: lr=1e-3, params={"dropout": 0.1} …"""
    wanted = preflight.requested(model, data, recipe=recipe, fast=fast, trials=trials, runs=runs, **settings)
    named = model
    if model is None and preflight.is_own_recipe(recipe):
        assert isinstance(recipe, (str, Path))
        named = allowed(wanted.model, Record(Path(recipe).parent), trust)
    ready = setup.prepare(wanted, named)
    wanted = ready.recipe.fast() if fast else ready.recipe  # a task may have settled what was left open
    if not isinstance(model, str) and model is not None:
        wanted = wanted.replace(model=ready.source.name)
    return setup.with_recipe(ready, wanted)


def resume(
    run: str | Path,
    *,
    model: Model | None = None,
    trust: Trust = False,
    runs: str | Path | None = None,
    quiet: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Run:
    """Continue a run that was interrupted; its end is the same as if it had been left alone."""
    record = Record.open(run, runs_folder(runs))
    ready = reopen(record, model, trust, say)
    pipeline.carry_out(record, ready, cost.measure(ready), Progress(quiet), say)
    return Run(record, ready)


def reopen(
    record: Record,
    model: Model | None = None,
    trust: Trust = False,
    notice: Callable[[str], None] = lambda text: None,
) -> setup.Setup:
    """The set-up a run was made with. Code that the run names is imported only if this user named or trusted it."""
    import torch

    threads = record.read_json("environment.json", {}).get("threads")
    if threads:
        torch.set_num_threads(int(threads))  # sums in another order round otherwise
    seen = record.read_json("input.json", {})
    recipe = record.recipe()
    if record.has("model.safetensors"):  # trained: what it began with is not needed again
        recipe = recipe.replace(pretrained=False, weights="")
    ready = setup.prepare(recipe, allowed(recipe.model, record, trust, notice) if model is None else model)
    if model is not None:
        trust_named(ready.source)
    if ready.initial is not None and seen.get("weights_sha256") not in (None, ready.initial.sha256):
        raise RunError(f"{ready.initial.origin} is not the file run {record.id} began with; start a new run")
    return ready


def load_run(
    run: str | Path, runs: str | Path | None = None, *, model: Model | None = None, trust: Trust = False
) -> Run:
    """A run by id, path or `latest`. Looking at it imports and executes nothing; using a model file of its own takes
    `model`, your own FILE.py:FUNCTION, or `trust=True`, which runs the text in its folder."""
    return Run(Record.open(run, runs_folder(runs)), model=model, trust=trust)


def all_runs(runs: str | Path | None = None, say: Callable[[str], None] = lambda line: None) -> list[Run]:
    """Every finished run that can be read; `say` is told of those that cannot."""
    return finished_runs(runs_folder(runs), say)


def compare(models: Sequence[Model], data: str | None = None, **settings: Any) -> list[Run]:
    """Run each model under the same recipe."""
    if not models:
        raise RunError("compare needs at least one model; for example replab compare mlp cnn")
    return run_each([{"model": model} for model in models], data=data, **settings)


def run_each(
    each: Sequence[dict[str, Any]],
    *,
    quiet: bool = False,
    say: Callable[[str], None] = lambda line: None,
    **shared: Any,
) -> list[Run]:
    """A run with each of these settings. What is wrong with the last is said before the first begins."""
    for own in each:
        prepare(**own, **shared)
    return [run(**own, **shared, quiet=quiet, say=say) for own in each]


def trust_named(source: ModelSource) -> None:
    """A file that the caller named may be run again when one of the runs made with it is used."""
    if source.path is not None and source.sha256 is not None:
        remember(source.sha256, source.name.rpartition(":")[2], source.path)


def list_models() -> list[str]:
    """The names of registered models."""
    return MODELS.names()


def list_datasets() -> list[str]:
    """The names of registered data sets."""
    return source.names()
