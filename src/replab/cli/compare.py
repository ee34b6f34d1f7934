"""compare and sweep: several runs under the same protocol, and one figure of all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from replab.cli import names
from replab.cli.app import (
    RUN,
    EngineOption,
    Fast,
    LogLevel,
    Model,
    Quiet,
    RayAddress,
    RecipeFile,
    Runs,
    Seeds,
    WorkersOption,
    app,
    shown,
)
from replab.cli.flags import with_settings
from replab.cli.printing import print_pairs, print_seeds, print_table
from replab.search.engines.base import Workers


@app.command(rich_help_panel=RUN)
@with_settings()
def compare(
    models: Annotated[list[str], typer.Argument(help="names, or FILE.py:FUNCTION", autocompletion=names.models)],
    recipe: RecipeFile = None,
    seeds: Seeds = 1,
    fast: Fast = False,
    workers: WorkersOption = "auto",
    engine: EngineOption = "processes",
    ray_address: RayAddress = None,
    quiet: Quiet = False,
    log_level: LogLevel = None,
    runs: Runs = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Run several models under the same protocol, then print one table and draw one figure."""
    from replab import preflight

    crew = Workers.asked(workers, engine, ray_address)
    for model in models:
        preflight.requested(model, recipe=recipe, runs=runs, **settings)
    from replab import several
    from replab.records.record import runs_folder
    from replab.runs import compare as comparison

    shared = {"workers": crew, "recipe": recipe, "fast": fast, "runs": runs, **settings}
    finished = several.run_seeds(models, seeds, quiet=quiet, events=shown(quiet, log_level), **shared)
    print_table(finished)
    if seeds > 1:
        print_seeds(finished)
        return
    for path in comparison.draw(finished, runs_folder(runs)):
        print(f"figure: {path}")


@app.command(rich_help_panel=RUN)
@with_settings(without=["params"])
def sweep(
    model: Model,
    set_: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="beta=0.1,1,10: one run per value; others as in replab run"),
    ],
    recipe: RecipeFile = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="where the figure goes")] = Path("sweep.png"),
    fast: Fast = False,
    workers: WorkersOption = "auto",
    engine: EngineOption = "processes",
    ray_address: RayAddress = None,
    quiet: Quiet = False,
    log_level: LogLevel = None,
    runs: Runs = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Run a model at several values of one parameter; one figure of samples and curves by value."""
    from replab import preflight
    from replab.settings.text import parse_sweep

    crew = Workers.asked(workers, engine, ray_address)
    key, values, fixed = parse_sweep(set_)
    each: list[dict[str, Any]] = [{"params": {**fixed, key: value}} for value in values]
    for own in each:
        preflight.requested(model, recipe=recipe, runs=runs, **settings, **own)
    from replab import several
    from replab.figures.curves import with_end
    from replab.figures.style import save
    from replab.figures.sweep import sweep as draw

    shared = {"model": model, "recipe": recipe, "fast": fast, "runs": runs, **settings}
    finished = several.run_each(each, quiet=quiet, events=shown(quiet, log_level), workers=crew, **shared)
    by_value = {f"{key}={value}": run for value, run in zip(values, finished)}
    samples = {name: run.predictions["samples"] for name, run in by_value.items() if "samples" in run.predictions}
    rows = {name: with_end(run.epochs, run.metrics) for name, run in by_value.items()}
    save(draw(rows, samples, f"{finished[0].values.title} by {key}"), out)
    for name, run in by_value.items():
        print(f"\n{name}  {run.folder}")
        print_pairs([(k, f"{v:.6g}") for k, v in run.metrics.items()])
    print(f"\nfigure: {out}")


@app.command(rich_help_panel=RUN)
def best(
    data: Annotated[str, typer.Option("--data", "-d", help="name of a data set, or a folder or zip of images",
                                      autocompletion=names.datasets)] = "digits",
    budget: Annotated[str, typer.Option(metavar="TIME", help="for the race and the winner together: 10m, 1h")] = "10m",
    models: Annotated[str, typer.Option(
        metavar="A,B", help="only these; by default every classifier, and a frozen backbone for each of torchvision's"
        " weights in the cache; probe:MODEL@WEIGHTS is one of your own"
    )] = "",
    per_class: Annotated[int | None, typer.Option(metavar="N", help="most training images per class")] = None,
    size: Annotated[int | None, typer.Option(metavar="N", help="resize the images to squares of this side")] = None,
    normalise: Annotated[str | None, typer.Option(metavar="HOW", help="of the images, for all models")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="decides every random draw")] = 3407,
    quiet: Quiet = False,
    log_level: LogLevel = None,
    runs: Runs = None,
) -> None:  # fmt: skip
    """Race the classifiers on validation images within a time, and train the winner. The same command resumes it."""
    from replab.settings.text import parse_seconds

    seconds = parse_seconds(budget)
    settings = {"per_class": per_class, "size": size, "normalise": normalise}
    given = {key: value for key, value in settings.items() if value is not None}
    from replab import race

    wanted = [word.strip() for word in models.split(",") if word.strip()]
    events = shown(quiet, log_level)
    folder, run = race.best(data, seconds, models=wanted, seed=seed, runs=runs, events=events, **given)
    if not quiet:
        print((folder / "race.md").read_text(encoding="utf-8"))
        print(f"race: {folder}\nrun: {run.folder}")
