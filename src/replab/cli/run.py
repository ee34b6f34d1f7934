"""run and resume: search, train, evaluate and report."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from replab.cli import names
from replab.cli.app import (
    RUN,
    CheckpointEvery,
    EngineOption,
    Fast,
    LogLevel,
    ModelFile,
    Quiet,
    RayAddress,
    RecipeFile,
    RunName,
    Runs,
    Seeds,
    Track,
    TrustOption,
    WorkersOption,
    app,
    asked,
    shown,
)
from replab.cli.flags import with_settings
from replab.cli.printing import print_report, print_seeds
from replab.search.engines.base import Workers


@app.command(rich_help_panel=RUN)
@with_settings()
def run(
    model: Annotated[
        str | None, typer.Argument(help="a registered name, or FILE.py:FUNCTION", autocompletion=names.models)
    ] = None,
    recipe: RecipeFile = None,
    seeds: Seeds = 1,
    fast: Fast = False,
    trust: TrustOption = False,
    track: Track = None,
    workers: WorkersOption = "auto",
    engine: EngineOption = "processes",
    ray_address: RayAddress = None,
    checkpoint_every: CheckpointEvery = "10m",
    quiet: Quiet = False,
    log_level: LogLevel = None,
    runs: Runs = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Search, train, evaluate and report: MODEL on --data (cnn on digits by default)."""
    from replab import preflight
    from replab.records.trackers import base as trackers

    crew = Workers.asked(workers, engine, ray_address)
    preflight.requested(model, recipe=recipe, runs=runs, **settings)
    trackers.check(track or ())
    from replab import api

    shared = {"workers": crew, "recipe": recipe, "fast": fast, "runs": runs, "trust": asked(trust), **settings}
    shared["checkpoint_every"] = checkpoint_every
    if seeds > 1:
        print_seeds(api.run_seeds([model], seeds, events=shown(quiet, log_level), track=track or (), **shared), runs)
        return
    print_report(
        api.run(model, events=shown(quiet, log_level), track=track or (), **shared), quiet or log_level == "error"
    )


@app.command(rich_help_panel=RUN)
def resume(
    run: RunName,
    model: ModelFile = None,
    trust: TrustOption = False,
    track: Track = None,
    workers: WorkersOption = "auto",
    engine: EngineOption = "processes",
    ray_address: RayAddress = None,
    checkpoint_every: CheckpointEvery = "10m",
    quiet: Quiet = False,
    log_level: LogLevel = None,
    runs: Runs = None,
) -> None:
    """Continue an interrupted run; it ends with the same numbers as if it had not been interrupted."""
    from replab import api

    events, crew = shown(quiet, log_level), Workers.asked(workers, engine, ray_address)
    more: dict[str, Any] = {"trust": asked(trust), "runs": runs, "workers": crew, "checkpoint_every": checkpoint_every}
    more["track"] = track or ()
    finished = api.resume(run, model=model, quiet=quiet, events=events, **more)
    print_report(finished, quiet or log_level == "error")
