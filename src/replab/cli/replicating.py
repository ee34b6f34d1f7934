"""The command of published experiments: replicate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from replab.cli.app import Quiet, Runs, app, sayer


@app.command()
def replicate(
    rows: Annotated[list[str] | None, typer.Argument(help="ids or globs: lab9/resnet9, 'mnist-lab/*'")] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="what was published, what was measured, and the verdict")
    ] = False,
    seeds: Annotated[int, typer.Option(help="runs of each row, seeds 3407 and on")] = 1,
    data: Annotated[str | None, typer.Option("--data", "-d", help="another variant of the row's data set")] = None,
    epochs: Annotated[int | None, typer.Option(help="other than published; the verdict says so")] = None,
    size: Annotated[int | None, typer.Option(help="resize the images to this instead; the ledger says so")] = None,
    limit: Annotated[int | None, typer.Option(help="train and test on this many images; the ledger says so")] = None,
    search: Annotated[bool, typer.Option("--search", help="the whole published search, not its result")] = False,
    budget: Annotated[str | None, typer.Option(help="do what fits in 30m or 2h, say what did not")] = None,
    fast: Annotated[bool, typer.Option("--fast", help="one epoch, few images, every stage; not kept")] = False,
    ledger_: Annotated[bool, typer.Option("--ledger", help="generate the ledger again from its raw rows")] = False,
    results: Annotated[Path, typer.Option(help="folder of the ledger")] = Path("results"),
    quiet: Quiet = False,
    runs: Runs = None,
) -> None:
    """Run published experiments again, and say what holds."""
    from replab.errors import RecipeError
    from replab.replication import results as ledger
    from replab.replication.packs import published, select

    known = published()
    if ledger_:
        ledger.write(results, known)
        print(f"written: {results / 'ledger.csv'}, {results / 'LEDGER.md'}")
        return
    chosen = select(rows, known.rows) if rows else []
    if list_ or not rows:
        print_ledger(known, ledger.read(ledger.to_show(results)), {row.id for row in chosen} or None)
        return
    absent = [row for row in chosen if row.not_run]
    if len(absent) == len(chosen):
        raise RecipeError(f"{absent[0].id} cannot be run: {absent[0].not_run}")
    from replab.replication import replicate as replication
    from replab.settings.text import parse_seconds

    jobs = replication.plan(chosen, seeds=seeds, data=data, epochs=epochs, search=search, size=size, limit=limit)
    say = sayer(quiet)
    outcome = replication.replicate(
        jobs, known, results=results, runs=runs, budget=parse_seconds(budget) if budget else None,
        fast=fast, quiet=quiet, say=say,
    )  # fmt: skip
    if fast:
        say("\n--fast looks at a few images for one epoch: nothing is judged or kept")
    elif not quiet:
        print_ledger(known, ledger.read(results), {job.row.id for job in jobs})
    for row in absent:
        print(f"not run: {row.id}: {row.not_run}")
    for job, reason in outcome.left_out:
        print(f"left out: {job.row.id} ({job.way}, seed {job.recipe.seed}): {reason}")


def print_ledger(known: Any, entries: list[Any], only: set[str] | None) -> None:
    """The rows as a table, then the claims; `only` these rows, and no claims, where given."""
    import sys

    from rich.console import Console
    from rich.table import Table

    from replab.replication import ledger
    from replab.replication.ledger_text import figure_name, measured, printed, row_name

    console = Console(width=None if sys.stdout.isatty() else 220)
    table = Table(box=None, pad_edge=False)
    for name in ("row", "figure", "published", "measured", "data", "epochs", "minutes", "verdict"):
        table.add_column(name, justify="right" if name in ("epochs", "minutes") else "left", overflow="fold")
    absent: set[str] = set()
    for line in ledger.lines(known, entries):
        if (only is None or line["id"] in only) and line["id"] not in absent:
            absent |= set() if line["n"] else {line["id"]}  # one line for what is not there
            verdict = line["verdict"] + (f": {line['reason']}" if line["reason"] else "")
            minutes = "" if line["minutes"] is None else f"{line['minutes']:.1f}"
            table.add_row(row_name(line), figure_name(line), printed(line), measured(line), line["data"],
                          str(line["epochs"] or ""), minutes, verdict)  # fmt: skip
    console.print(table, markup=False)
    if only is None:
        print()
        table = Table(box=None, pad_edge=False)
        for name in ("claim", "verdict", "rests on"):
            table.add_column(name, overflow="fold")
        for claim in ledger.claim_lines(known, entries):
            table.add_row(claim["claim"], claim["verdict"], claim["reason"])
        console.print(table, markup=False)
