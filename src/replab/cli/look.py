"""show, cost and data: look at a model, at what a run would take and at images before anything is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from replab.cli.app import LOOK, Model, RecipeFile, app
from replab.cli.flags import with_settings
from replab.cli.printing import print_pairs


@app.command(rich_help_panel=LOOK)
@with_settings()
def show(
    model: Model,
    recipe: RecipeFile = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="a Mermaid diagram instead of the table")] = False,
    *,
    settings: dict[str, Any],
) -> None:
    """Print the layers of a model with output shapes, parameters and MACs."""
    from replab import preflight

    wanted = preflight.requested(model, recipe=recipe, reads_images=False, **settings)
    from replab.data.load import stand_in
    from replab.explain.structure.trace import trace
    from replab.training.prepare import prepare

    experiment = prepare(wanted, data=stand_in(wanted.data, size=wanted.size, classes=wanted.classes))
    structure = trace(experiment.spare_model(), experiment.data.spec)
    print(structure.mermaid() if mermaid else structure.table())


@app.command(rich_help_panel=LOOK)
@with_settings()
def cost(
    model: Model,
    recipe: RecipeFile = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Measure on a few steps what a run would take, search and training; nothing is written."""
    from replab import preflight

    wanted = preflight.requested(model, recipe=recipe, **settings)
    from replab.training.cost import measure
    from replab.training.prepare import prepare

    experiment = prepare(wanted)
    print(measure(experiment).sentences(experiment))


@app.command(rich_help_panel=LOOK)
def data(
    name: Annotated[str, typer.Argument(help="name of a data set, or a folder or zip of images")],
    size: Annotated[int | None, typer.Option(metavar="N", help="resize the images to squares of this side")] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="where the grid of random images goes")] = Path("data.png"),
    seed: Annotated[int, typer.Option(metavar="N", help="draws the images of the grid")] = 0,
) -> None:
    """Describe a data set: sizes, classes, balance, mean and std, duplicates, and random images with their labels."""
    from replab.data import source

    source.check(name)
    source.check_reachable(name)
    from replab.data.inspect import look, sample
    from replab.data.load import load
    from replab.figures.gallery import grid
    from replab.figures.style import save

    images = load(name, size=size)
    summary = look(images)
    print_pairs(summary.lines())
    if summary.counts:
        print()
        print_pairs([(c, f"{train:,} training, {test:,} test") for c, (train, test) in summary.counts.items()])
    pixels, captions = sample(images.train, 40, seed)
    title = f"{images.name}: {len(pixels)} of {len(images.train):,} training images"
    save(grid(pixels, captions or None, title=title), out)
    print(f"\nimages: {out}")
