"""run and resume: search, train, evaluate and report."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from replab.cli.app import (
    RUN,
    Fast,
    ModelFile,
    Quiet,
    RecipeFile,
    RunName,
    Runs,
    Seeds,
    Track,
    TrustOption,
    app,
    asked,
    shown,
)
from replab.cli.flags import with_settings
from replab.cli.printing import print_report, print_seeds


@app.command(rich_help_panel=RUN)
@with_settings()
def run(
    model: Annotated[str | None, typer.Argument(help="a registered name, or FILE.py:FUNCTION")] = None,
    recipe: RecipeFile = None,
    seeds: Seeds = 1,
    fast: Fast = False,
    trust: TrustOption = False,
    track: Track = None,
    quiet: Quiet = False,
    runs: Runs = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Search, train, evaluate and report: MODEL on --data (cnn on digits by default)."""
    from replab import preflight
    from replab.records.trackers.base import tracker

    preflight.requested(model, recipe=recipe, runs=runs, **settings)
    for name in track or ():
        tracker.check(name)
    from replab import api

    shared = {"recipe": recipe, "fast": fast, "runs": runs, "trust": asked(trust), **settings}
    if seeds > 1:
        print_seeds(api.run_seeds([model], seeds, events=shown(quiet), track=track or (), **shared), runs)
        return
    print_report(api.run(model, events=shown(quiet), track=track or (), **shared), quiet)


@app.command(rich_help_panel=RUN)
def resume(
    run: RunName,
    model: ModelFile = None,
    trust: TrustOption = False,
    quiet: Quiet = False,
    runs: Runs = None,
) -> None:
    """Continue an interrupted run; it ends with the same numbers as if it had not been interrupted."""
    from replab import api

    print_report(api.resume(run, model=model, trust=asked(trust), runs=runs, quiet=quiet, events=shown(quiet)), quiet)
