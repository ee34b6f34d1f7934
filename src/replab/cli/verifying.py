"""The command that looks for damage: verify."""

from __future__ import annotations

from typing import Annotated

import typer

from replab.cli.app import Runs, app


@app.command()
def verify(
    run: Annotated[str, typer.Argument(help="id or folder of the run, or latest")],
    runs: Runs = None,
) -> None:
    """Say which files of a run are whole, which are damaged, and what can still be done. Exit code 1 if any is."""
    from replab.records.record import runs_folder
    from replab.records.verify import opened, verify

    verdict = verify(opened(run, runs_folder(runs)))
    print("\n".join(verdict.lines()))
    if verdict.problems:
        raise typer.Exit(1)
