"""models and datasets: what there is to run."""

from __future__ import annotations

from replab.cli.app import LOOK, app
from replab.cli.printing import print_pairs


@app.command(rich_help_panel=LOOK)
def models() -> None:
    """List the models."""
    from replab.models.registry import MODELS

    more = [("vit-b16", "ViT-B/16 of torchvision"), ("torchvision:NAME", "any classifier of torchvision")]
    print_pairs([(name, MODELS.describe(name)) for name in MODELS.names()] + more)
    print("\nYour own: replab run FILE.py:FUNCTION")


@app.command(rich_help_panel=LOOK)
def datasets() -> None:
    """List the data sets."""
    from replab.data.source import source

    print_pairs([(name, source.describe(name)) for name in source.names()])
    print("\nYour own: --data FOLDER or --data FILE.zip with train/CLASS/* and test/CLASS/*, or CLASS/*")
