"""card: what a trained model is and is not, as a page for those who are given it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replab.cli.app import RESULTS, RunName, Runs, app


@app.command(rich_help_panel=RESULTS)
def card(
    run: RunName,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="where the card goes (default: README.md of the run's folder)")
    ] = None,
    runs: Runs = None,
) -> None:
    """Write the model card of a run: data, metrics with intervals, audit and limits, and the Hub's model-index."""
    from replab import api
    from replab.deploy.card import upload_command
    from replab.deploy.public import card as written
    from replab.files import write_atomic

    loaded = api.load_run(run, runs)
    path = out or loaded.folder / "README.md"
    write_atomic(path, written(loaded).encode())
    print(f"model card: {path}")
    print(f"to publish it: {upload_command(loaded.folder)}")
