"""Commands that look at what there is before a run: models, datasets, show."""

from __future__ import annotations

from typing import Annotated

import typer

from replab.cli.app import Data, app, print_pairs, recipe_settings


@app.command()
def models() -> None:
    """List the models."""
    from replab.models import registry

    print_pairs([(name, registry.describe(name)) for name in registry.names()])
    print("\nYour own: replab run FILE.py:FUNCTION")


@app.command()
def datasets() -> None:
    """List the data sets."""
    from replab.data import sources

    print_pairs([(name, sources.describe(name)) for name in sources.names()])
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
    from replab import setup
    from replab.recipe import Recipe
    from replab.structure import trace

    recipe = Recipe(model=model).replace(**recipe_settings({"set_": set_, "size": size, "data": data}))
    ready = setup.prepare(recipe)
    structure = trace(ready.fresh_model(), ready.data.spec)
    print(structure.mermaid() if mermaid else structure.table())
