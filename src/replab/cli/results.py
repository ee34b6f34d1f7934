"""report, runs, leaderboard, audit and verify: what runs have measured, and what might be wrong with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from replab.cli.app import RESULTS, LogLevel, ModelFile, Quiet, RunName, Runs, TrustOption, app, asked, shown
from replab.cli.printing import print_pairs, print_report, print_rows, print_seeds, print_table
from replab.errors import ReplabError, RunError, UnknownName
from replab.records.text import visible


@app.command(rich_help_panel=RESULTS)
def report(
    run: RunName,
    theme: Annotated[str, typer.Option(metavar="THEME", help="figures for light or dark pages")] = "",
    runs: Runs = None,
) -> None:
    """Write the report and figures of a run, or of a group of seeds, again, and print it."""
    if theme not in ("", "light", "dark"):
        raise RunError(f"--theme must be light or dark, got {theme!r}")
    from replab import api
    from replab.records.record import runs_folder
    from replab.report import seeds
    from replab.report.write import write

    if (group := seeds.opened(run, runs_folder(runs))) is not None:
        print_seeds(group, theme)
        return
    loaded = api.load_run(run, runs)
    try:
        write(loaded.record, theme)
        print_report(loaded, quiet=False)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, ZeroDivisionError) as error:
        raise RunError(  # of other types, or sizes, than replab writes
            f"run {loaded.id} cannot be reported, a file of it is not replab's ({type(error).__name__}: {error});"
            f" replab verify {loaded.id} looks at each"
        ) from error


@app.command("runs", rich_help_panel=RESULTS)
def list_runs(runs: Runs = None) -> None:
    """List every run, finished or not, and how far it came; then the groups that --seeds made."""
    from replab.records.record import Record, runs_folder
    from replab.report import seeds

    folder = runs_folder(runs)
    rows = [(record.id, *describe(record)) for record in Record.all(folder)]
    if not rows:
        print(f"no runs in {folder}; replab run makes one")
        return
    print_rows(("run", "model", "data", "state", "accuracy %"), rows, right=("accuracy %",), drop=("data", "model"))
    if groups := seeds.listed(folder):
        print("\ngroups of seeds (replab report NAME):")
        print_pairs(groups)


def describe(record: Any) -> tuple[str, str, str, str]:
    """Model, data, state and accuracy of a run, from the few files that say so."""
    try:
        recipe = record.recipe()
        accuracy = record.read_json("metrics.json", {}).get("accuracy")
        state = "finished" if record.has("metrics.json") else state_of(record)
    except ReplabError as error:
        return "–", "–", f"damaged: {error}", "–"
    return recipe.model, recipe.data, state, "–" if accuracy is None else f"{accuracy * 100:.2f}"


def state_of(record: Any) -> str:
    """Where an unfinished run stands."""
    from replab.settings.searched import wanted_trials
    from replab.settings.words import count

    if record.has("model.safetensors"):
        return "trained, not evaluated"
    if record.has("chosen.toml"):
        trained = len(record.read_lines("epochs.jsonl"))
        return f"training: {trained} of {count(record.chosen().last_epoch or 0, 'epoch')}"
    return f"searching: {len(record.trials())} of {count(wanted_trials(record.recipe()), 'trial')}"


@app.command(rich_help_panel=RESULTS)
def leaderboard(
    data: Annotated[str | None, typer.Option("--data", "-d", metavar="NAME", help="only runs on this data set")] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="only runs of this model")] = None,
    sort: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="accuracy, loss, parameters, macs, seconds, images_per_second, model, run, or a metric",
        ),
    ] = "accuracy",
    csv: Annotated[bool, typer.Option("--csv", help="comma-separated values, all columns")] = False,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="also draw curves and accuracy against time into this folder")
    ] = None,
    runs: Runs = None,
) -> None:
    """List every finished run, best first, with intervals; differences within noise are marked."""
    from replab.records.record import runs_folder
    from replab.runs import compare as comparison
    from replab.runs.run import finished_runs
    from replab.tasks.metrics import key_of

    def say(line: str) -> None:
        print(visible(line), file=sys.stderr)

    chosen = finished_runs(runs_folder(runs), say)
    measured = [key_of(name) for run in chosen for name in run.values.chosen.metric]
    comparison.check_sort(sort, measured)
    for kind, wanted, of in (
        ("data set", data, lambda r: r.values.input["data"]),
        ("model", model, lambda r: r.values.chosen.model),
    ):
        if wanted is not None:
            known = sorted({of(r) for r in chosen})
            if wanted not in known:
                among = f"finished runs have {', '.join(known)}" if known else "there are no finished runs"
                raise UnknownName(f"{kind} among the finished runs", wanted, known, among)
            chosen = [r for r in chosen if of(r) == wanted]
    if not chosen:
        print(f"no finished runs in {runs_folder(runs)}; replab run makes one")
        return
    if csv:
        print(comparison.to_csv(comparison.table(chosen, sort, say)), end="")
    else:
        print_table(chosen, sort, say)
    if figures is not None:
        for path in comparison.draw(chosen, figures):
            print(f"figure: {path}")


@app.command(rich_help_panel=RESULTS)
def audit(
    run: RunName,
    retest: Annotated[
        bool, typer.Option("--retest", help="train the chosen rate and its neighbours at full size, and compare")
    ] = False,
    model: ModelFile = None,
    trust: TrustOption = False,
    quiet: Quiet = False,
    log_level: LogLevel = None,
    runs: Runs = None,
) -> None:
    """Say what might be wrong with the number of a run: plain sentences, each with the figure it rests on."""
    from replab import api
    from replab.runs import audit as auditing

    loaded = api.load_run(run, runs)
    findings = auditing.audit(loaded, api.all_runs(loaded.folder.parent))
    if retest:
        from replab.runs.retest import retest as train_again
        from replab.runs.retest import retest_sentence

        experiment = api.load_run(run, runs, model=model, trust=asked(trust)).reopened()
        findings.append(retest_sentence(train_again(loaded, experiment, shown(quiet, log_level))))
    for finding in findings:
        print(("! " if finding.warning else "  ") + visible(finding.sentence))


@app.command(rich_help_panel=RESULTS)
def verify(run: RunName, runs: Runs = None) -> None:
    """Say which files of a run are whole, which are damaged, and what can still be done. Exit code 1 for damage."""
    from replab.records.record import runs_folder
    from replab.records.verify import opened
    from replab.records.verify import verify as look

    verdict = look(opened(run, runs_folder(runs)))
    print("\n".join(visible(line) for line in verdict.lines()))
    if verdict.problems:
        raise typer.Exit(1)
