"""models, datasets and protocols: what there is to run, and how."""

from __future__ import annotations

from typing import Annotated

import typer

from replab.cli.app import LOOK, app
from replab.cli.printing import print_pairs
from replab.settings import protocols


@app.command(rich_help_panel=LOOK)
def models() -> None:
    """List the models."""
    from replab.models.registry import MODELS

    more = [("vit-b16", "ViT-B/16 of torchvision"), ("torchvision:NAME", "any classifier of torchvision"),
            ("timm:NAME", "any model of timm (pip install 'replab[timm]')")]  # fmt: skip
    print_pairs([(name, MODELS.describe(name)) for name in MODELS.names()] + more)
    print("\nYour own: replab run FILE.py:FUNCTION")


@app.command(rich_help_panel=LOOK)
def datasets() -> None:
    """List the data sets."""
    from replab.data.source import source

    print_pairs([(name, source.describe(name)) for name in source.names()])
    print("\nYour own: --data FOLDER or --data FILE.zip with train/CLASS/* and test/CLASS/*, or CLASS/*")


protocol_commands = typer.Typer(no_args_is_help=True, help="Show the protocols that runs follow.")
app.add_typer(protocol_commands, name="protocol", rich_help_panel=LOOK)


@protocol_commands.command("list")
def list_() -> None:
    """List the protocols; the first is the default."""
    print_pairs([(name, protocols.describe(name)) for name in protocols.names()])
    print("\nYour own: replab protocol show NAME > mine.toml, change it, replab run --recipe mine.toml")


@protocol_commands.command()
def show(
    name: Annotated[str, typer.Argument(help="of a protocol", autocompletion=protocols.names)],
) -> None:
    """Print a protocol: a recipe file, for --recipe too."""
    print(protocols.text(name), end="")
