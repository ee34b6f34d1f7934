"""view and ledger: runs, and what was published against what was measured, as pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from replab.cli.app import PUBLISHED, RESULTS, Runs, app
from replab.errors import RunError


@app.command(rich_help_panel=RESULTS)
def view(
    runs: Runs = None,
    port: Annotated[int, typer.Option(metavar="N", help="port to serve on; 0 takes a free one")] = 8265,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="address to serve on; others than this machine need --token")
    ] = "127.0.0.1",
    token: Annotated[str | None, typer.Option(metavar="SECRET", help="what every request must know")] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option("--trust", metavar="RUN", help="let the page use this run's own model file; may be repeated"),
    ] = None,
    results: Annotated[Path, typer.Option(metavar="FOLDER", help="folder of the ledger")] = Path("results"),
    open_: Annotated[bool, typer.Option("--open/--no-open", help="open it in the browser")] = True,
) -> None:
    """Look at runs in the browser, try their models, start new ones. Nothing leaves this machine."""
    from replab.records.record import Record, runs_folder
    from replab.web.serve import serve

    folder = runs_folder(runs)
    if not folder.is_dir():
        raise RunError(f"there is no folder {folder}; replab run makes one, --runs FOLDER names another")

    trusted = frozenset(Record.open(name, folder).id for name in trust or ())

    def ready(address: str, secret: str) -> None:
        url = f"{address}?token={secret}"
        print(f"{folder} at {url} (Ctrl-C ends it)", flush=True)
        if token:
            exposed = f"every run in {folder} can be read, and its model tried"
            print(f"{exposed}, by whoever reaches {host} and knows the token", flush=True)
        elif open_:
            typer.launch(url)

    for run in serve(folder, results, host, port, token, ready, trusted):
        print(f"run {run} was stopped with the page; replab resume {run} continues it")


@app.command(rich_help_panel=PUBLISHED)
def ledger(
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="write it as one page instead")] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="draw it; FILE-dark is for dark pages")
    ] = None,
    results: Annotated[Path, typer.Option(metavar="FOLDER", help="folder of the ledger")] = Path("results"),
) -> None:
    """Show what was published beside what was measured, and the verdict on each."""
    from replab.replication import results as folder
    from replab.replication.packs import published

    if figure is not None:
        from replab.replication import dots

        print("written: " + ", ".join(map(str, dots.write(results, figure))))
    if html is None and figure is None:
        from replab.cli.replicate import print_ledger

        print_ledger(published(), folder.read(folder.to_show(results), lambda line: print(line, file=sys.stderr)), None)
    if html is None:
        return
    from replab import files
    from replab.web.published import page

    files.write_atomic(html, page(results).encode())
    print(f"written: {html}")
