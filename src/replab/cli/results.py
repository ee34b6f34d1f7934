"""Commands on finished runs: report, leaderboard, audit, predict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from replab.cli.app import Data, ModelFile, Quiet, Runs, app, print_report, print_table


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
    model: Annotated[str | None, typer.Option(help="only this model's runs")] = None,
    sort: Annotated[
        str, typer.Option(help="accuracy, loss, parameters, macs, seconds, images_per_second, model, run")
    ] = ("accuracy"),
    csv: Annotated[bool, typer.Option("--csv", help="comma-separated values, all columns")] = False,
    figures: Annotated[
        Path | None, typer.Option(help="also draw curves and accuracy against time into this folder")
    ] = None,
    runs: Runs = None,
) -> None:
    """Every finished run, best first, with intervals and the differences that are within noise."""
    from replab import api, comparison

    whole = api.all_runs(runs, lambda line: print(line, file=sys.stderr))
    found = [r for r in whole if data in (None, r.input["data"]) and model in (None, r.chosen.model)]
    if not found:
        print("no finished runs to show; replab run makes one")
        return
    if csv:
        print(comparison.to_csv(comparison.table(found, sort)), end="")
    else:
        print_table(found, sort)
    if figures is not None:
        for path in comparison.draw(found, figures):
            print(f"figure: {path}")


@app.command()
def audit(
    run: Annotated[str, typer.Argument(help="id or folder of the run")],
    retest: Annotated[
        bool, typer.Option("--retest", help="train the chosen rate and its neighbours at full size, and compare")
    ] = False,
    model: ModelFile = None,
    quiet: Quiet = False,
    runs: Runs = None,
) -> None:
    """What might be wrong with a run's number? Plain sentences, each with the figure it rests on."""
    from replab import api
    from replab import audit as auditing
    from replab.progress import Progress

    found = api.load_run(run, runs)
    findings = auditing.audit(found, api.all_runs(found.folder.parent))
    if retest:
        ready = api.reopen(found.record, model)
        findings.append(auditing.retest_sentence(auditing.retest(found, ready, Progress(quiet))))
    for finding in findings:
        print(("! " if finding.warning else "  ") + finding.sentence)


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
