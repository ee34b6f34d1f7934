"""Commands that look before a run: models, datasets, show, data, lr-find."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replab.cli.app import Data, app, print_pairs, recipe_settings


@app.command()
def models() -> None:
    """List the models."""
    from replab.models.registry import MODELS

    more = [("vit-b16", "torchvision's ViT-B/16"), ("torchvision:NAME", "any classifier of torchvision's")]
    print_pairs([(name, MODELS.describe(name)) for name in MODELS.names()] + more)
    print("\nYour own: replab run FILE.py:FUNCTION")


@app.command()
def datasets() -> None:
    """List the data sets."""
    from replab.data.source import source

    print_pairs([(name, source.describe(name)) for name in source.names()])
    print("\nYour own: --data FOLDER or --data FILE.zip with train/CLASS/* and test/CLASS/*, or CLASS/*")


@app.command()
def show(
    model: Annotated[str, typer.Argument(help="a registered name, or FILE.py:FUNCTION")],
    data: Data = None,
    size: Annotated[int | None, typer.Option(help="resize the images to this many pixels square")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="a parameter of the model: channels=[16,32]")] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="a Mermaid diagram instead of the table")] = False,
) -> None:
    """Print a model's layers with output shapes, parameters and MACs."""
    from replab.explain.structure.trace import trace
    from replab.settings.recipe import Recipe
    from replab.training import experiment as setup

    recipe = Recipe(model=model, data=data or "digits").replace(**recipe_settings({"set_": set_, "size": size}))
    ready = setup.prepare(recipe)
    structure = trace(ready.fresh_model(), ready.data.spec)
    print(structure.mermaid() if mermaid else structure.table())


@app.command()
def data(
    name: Annotated[str, typer.Argument(help="a data set's name, or a folder or zip of images")],
    size: Annotated[int | None, typer.Option(help="resize the images to this many pixels square")] = None,
    out: Annotated[Path, typer.Option(help="where the grid of random images goes")] = Path("data.png"),
    seed: Annotated[int, typer.Option(help="draws the images of the grid")] = 0,
) -> None:
    """Look at a data set: sizes, classes, balance, mean and std, duplicates, and random images with their labels."""
    from replab.data.inspect import draw, look
    from replab.data.load import load
    from replab.figures.style import save

    found = load(name, size=size)
    seen = look(found)
    print_pairs(seen.lines())
    if seen.counts:
        print()
        print_pairs([(c, f"{train:,} training, {test:,} test") for c, (train, test) in seen.counts.items()])
    save(draw(found, seed=seed), out)
    print(f"\nimages: {out}")


@app.command("lr-find")
def lr_find(
    model: Annotated[str, typer.Argument(help="a registered name, or FILE.py:FUNCTION")],
    data: Data = None,
    size: Annotated[int | None, typer.Option(help="resize the images to this many pixels square")] = None,
    batch_size: Annotated[int | None, typer.Option(help="[128]")] = None,
    optimizer: Annotated[str | None, typer.Option(help="adam, adamw or sgd [adam]")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="a parameter of the model: channels=[16,32]")] = None,
    backend: Annotated[str | None, typer.Option(help="torch or mytorch [torch]")] = None,
    steps: Annotated[int, typer.Option(help="batches, while the rate rises")] = 100,
    out: Annotated[Path, typer.Option(help="where the figure goes")] = Path("lr-find.png"),
) -> None:
    """The loss against a rising learning rate, with a suggestion. Leaves nothing but the figure."""
    from replab.figures.lr_find import lr_find as draw
    from replab.figures.style import save
    from replab.settings.recipe import Recipe
    from replab.training import experiment as setup
    from replab.training import lr_find as finding

    ready = setup.prepare(Recipe(model=model, data=data or "digits").replace(**recipe_settings(locals())))
    found = finding.lr_find(ready, steps=steps)
    save(draw(found.rates, found.losses, found.suggestion, found.smoothed), out)
    print(f"try --lr {found.suggestion:.2g}" if found.suggestion else "the loss never fell: no rate to suggest")
    print(f"figure: {out}")
