"""replicate: published experiments run again, beside what was published."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from replab.cli.app import PUBLISHED, EngineOption, LogLevel, Quiet, RayAddress, Runs, WorkersOption, app, shown
from replab.cli.printing import print_rows
from replab.errors import RecipeError
from replab.records.text import visible
from replab.search.engines.base import Workers


def say(line: str) -> None:
    print(visible(line), file=sys.stderr)


@app.command(rich_help_panel=PUBLISHED)
def replicate(
    rows: Annotated[list[str] | None, typer.Argument(help="ids or globs: lab9/resnet9, 'mnist-lab/*'")] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="what was published, what was measured, and the verdict")
    ] = False,
    seeds: Annotated[int, typer.Option(metavar="N", help="runs per row, with seeds 3407, 3408, ...")] = 1,
    data: Annotated[
        str | None, typer.Option("--data", "-d", metavar="NAME", help="another variant of the row's data set")
    ] = None,
    epochs: Annotated[int | None, typer.Option(metavar="N", help="other than published; the verdict says so")] = None,
    stop_after: Annotated[
        int | None, typer.Option(metavar="K", help="only the first K epochs of the published schedule")
    ] = None,
    size: Annotated[
        int | None, typer.Option(metavar="N", help="resize the images to this side instead; the ledger says so")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", help="train and test on this many images; the ledger says so")
    ] = None,
    search: Annotated[
        bool, typer.Option("--search", help="the whole published search instead of the settings it found")
    ] = False,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="run what fits into 30m or 2h, and say what did not")
    ] = None,
    to_see: Annotated[
        float | None, typer.Option(metavar="X", help="say how many seeds would show a difference of X; runs nothing")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="repeat the first epoch of measured rows, and say which still match")
    ] = False,
    renew: Annotated[
        bool, typer.Option("--renew", help="run seeds again whose rows are stale; the ledger lists them")
    ] = False,
    pack: Annotated[
        Path | None, typer.Option(metavar="FILE", help="a pack of your own (TOML); docs/packs.md says how to write one")
    ] = None,
    fast: Annotated[bool, typer.Option("--fast", help="one epoch, few images, every stage; nothing is kept")] = False,
    ledger_: Annotated[bool, typer.Option("--ledger", help="generate the ledger again from its raw rows")] = False,
    results: Annotated[Path, typer.Option(metavar="FOLDER", help="folder of the ledger")] = Path("results"),
    workers: WorkersOption = "auto",
    engine: EngineOption = "processes",
    ray_address: RayAddress = None,
    quiet: Quiet = False,
    log_level: LogLevel = None,
    runs: Runs = None,
) -> None:
    """Run published experiments again, and say which results hold."""
    from replab.replication import results as ledger
    from replab.replication.packs import from_file, published, select
    from replab.settings.text import parse_seconds

    crew = Workers.asked(workers, engine, ray_address)
    known = published() if pack is None else from_file(pack)
    if pack is not None:
        results = results / pack.stem if results == Path("results") else results  # its ledger is its own
        rows = rows or (None if list_ or ledger_ else list(known.rows))
    if ledger_:
        ledger.write(results, known)
        print(f"written: {results / 'ledger.csv'}, {results / 'LEDGER.md'}")
        return
    chosen = select(rows, known.rows) if rows else []
    if to_see is not None:
        print_plan(known, ledger.read(ledger.to_show(results), say), chosen, to_see)
        return
    if check:
        print_check(ledger.read(ledger.to_show(results), say), known, {row.id for row in chosen or known.rows.values()})
        return
    if list_ or not rows:
        print_ledger(known, ledger.read(ledger.to_show(results), say), {row.id for row in chosen} or None)
        return
    absent = [row for row in chosen if row.not_run]
    if len(absent) == len(chosen):
        raise RecipeError(f"{absent[0].id} cannot be run: {absent[0].not_run}")
    seconds = parse_seconds(budget) if budget else None
    from replab.replication import replicate as replication

    jobs = replication.plan(
        chosen, seeds=seeds, data=data, epochs=epochs, stop_after=stop_after, search=search, size=size, limit=limit
    )
    events = shown(quiet, log_level)
    how: dict[str, Any] = {"budget": seconds, "fast": fast, "events": events, "workers": crew, "renew": renew}
    outcome = replication.replicate(jobs, known, results=results, runs=runs, **how)
    if fast:
        events.message("\n--fast looks at a few images for one epoch: nothing is judged or kept")
    elif not quiet:
        print_ledger(known, ledger.read(results, say), {job.row.id for job in jobs})
    for row in absent:
        print(f"not run: {row.id}: {row.not_run}")
    for job, reason in outcome.left_out:
        print(f"left out: {job.row.id} ({job.way}, seed {job.recipe.seed}): {reason}")


def print_ledger(known: Any, entries: Sequence[Any], only: Collection[str] | None) -> None:
    """The rows as a table, then the claims; with `only`, these rows and no claims."""
    from replab.replication import ledger
    from replab.replication.ledger_text import because, figure_name, measured, printed, row_name

    table = []
    absent: set[str] = set()
    for line in ledger.lines(known, entries):
        if (only is None or line["id"] in only) and line["id"] not in absent:
            absent |= set() if line["n"] else {line["id"]}  # one line per row that was not measured
            verdict = line["verdict"] + (f": {said}" if (said := because(line)) else "")
            minutes = "" if line["minutes"] is None else f"{line['minutes']:.1f}"
            table.append((row_name(line), figure_name(line), printed(line), measured(line), line["data"],
                          str(line["epochs"] or ""), minutes, verdict))  # fmt: skip
    columns = ("row", "figure", "published", "measured", "data", "epochs", "minutes", "verdict")
    print_rows(
        columns, table, right=("epochs", "minutes"), drop=("minutes", "epochs", "data", "figure"),
        fold=("figure", "published", "measured", "verdict"),
    )  # fmt: skip
    if only is None:
        print()
        claims = [(c["claim"], c["verdict"], c["reason"]) for c in ledger.claim_lines(known, entries)]
        print_rows(("claim", "verdict", "rests on"), claims, fold=("claim", "rests on"))


def print_plan(known: Any, entries: Sequence[Any], rows: Sequence[Any], difference: float) -> None:
    """How many seeds of each row would show a difference, from the spread that its seeds had so far."""
    from replab.replication.power import plan

    if difference <= 0 or not rows:
        raise RecipeError(
            f"--to-see needs rows and a difference above 0, got {difference:g}; try notes/mlp --to-see 0.5"
        )
    for text in plan(known, entries, rows, difference):
        print(text)


def print_check(entries: Sequence[Any], known: Any, only: Collection[str]) -> None:
    from replab.replication.check import check

    words: dict[str, int] = {}
    for checked in check([entry for entry in entries if entry.id in only], known.rows):
        words[checked.word] = words.get(checked.word, 0) + 1
        entry = checked.entry
        print(f"{checked.word:<12}{entry.id} on {entry.images}, seed {entry.seed}: {checked.text}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in words.items()) or "nothing was measured")
