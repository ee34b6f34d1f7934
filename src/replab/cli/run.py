"""run and resume: search, train, evaluate and report."""

from __future__ import annotations

import atexit
import contextlib
import os
from typing import Annotated, Any

import typer

from replab.cli import names
from replab.cli.app import (
    RUN,
    CheckpointEvery,
    DdpOption,
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
    ddp: DdpOption = None,
    quiet: Quiet = False,
    log_level: LogLevel = None,
    runs: Runs = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Search, train, evaluate and report: MODEL on --data (cnn on digits by default)."""
    if followed():
        return
    from replab import preflight
    from replab.records.trackers import base as trackers

    crew = Workers.asked(workers, engine, ray_address)
    preflight.requested(model, recipe=recipe, runs=runs, **settings)
    trackers.check(track or ())
    from replab import api

    where = {"workers": crew, "ddp": ddp, "runs": runs, "checkpoint_every": checkpoint_every}
    shared = {**where, "recipe": recipe, "fast": fast, "trust": asked(trust), **settings}
    if seeds > 1:
        from replab import several

        watched = shown(quiet, log_level)
        print_seeds(several.run_seeds([model], seeds, events=watched, track=track or (), **shared))
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
    ddp: DdpOption = None,
    quiet: Quiet = False,
    log_level: LogLevel = None,
    runs: Runs = None,
) -> None:
    """Continue an interrupted run; it ends with the same numbers as if it had not been interrupted."""
    if followed():
        return
    from replab import api

    events, crew = shown(quiet, log_level), Workers.asked(workers, engine, ray_address)
    more: dict[str, Any] = {"trust": asked(trust), "runs": runs, "workers": crew, "checkpoint_every": checkpoint_every}
    more["track"] = track or ()
    more["ddp"] = ddp
    finished = api.resume(run, model=model, quiet=quiet, events=events, **more)
    print_report(finished, quiet or log_level == "error")


def followed() -> bool:
    """Under torchrun every process is given this command: the first one runs it, and the others share its training."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return False
    from replab.training.ddp.follow import follow, follows
    from replab.training.ddp.lead import end_followers

    if not follows():
        atexit.register(end_followers)
        return False
    with contextlib.suppress(KeyboardInterrupt):
        follow()
    return True
