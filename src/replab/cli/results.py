"""Commands on finished runs: report, leaderboard, predict."""

from __future__ import annotations

from typing import Annotated

import typer

from replab.cli.app import Data, ModelFile, Runs, app, print_report, print_table


@app.command()
def report(run: Annotated[str, typer.Argument(help="id or folder of the run")], runs: Runs = None) -> None:
    """Write a run's report and figures again, and print it."""
    from replab import api
    from replab import report as reports

    found = api.load_run(run, runs)
    reports.write(found.record)
    print_report(found, quiet=False)


@app.command()
def leaderboard(
    data: Data = None,
    runs: Runs = None,
) -> None:
    """Every finished run, best first, with intervals and the differences that are within noise."""
    from replab import api

    found = [r for r in api.all_runs(runs) if data is None or r.input["data"] == data]
    if not found:
        print("no finished runs yet; replab run makes one")
        return
    print_table(found)


@app.command()
def predict(
    run: Annotated[str, typer.Argument(help="id or folder of the run")],
    images: Annotated[list[str], typer.Argument(help="image files")],
    model: ModelFile = None,
    runs: Runs = None,
) -> None:
    """Say what images show, by a run's trained model."""
    from replab import api

    for name, said in zip(images, api.load_run(run, runs).predict(list(images), model)):
        others = sorted(said.probabilities.items(), key=lambda kv: -kv[1])[1:3]
        print(f"{name}: {said.label} {said.probability:.1%} (then {', '.join(f'{k} {v:.1%}' for k, v in others)})")
