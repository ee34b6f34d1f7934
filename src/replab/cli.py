"""The command line: one command a verb. Parses, calls the API, prints. Nothing slow is imported until a command needs it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from replab.errors import ReplabError

app = typer.Typer(
    help="An image-model replication lab: one command searches, trains, evaluates, reports and remembers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Runs = Annotated[str | None, typer.Option("--runs", help="folder of runs (default: $REPLAB_RUNS or ./runs)")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="no progress, no report: only errors")]
Data = Annotated[str | None, typer.Option("--data", "-d", help="a data set's name, or a folder or zip of images")]
ModelFile = Annotated[str | None, typer.Option("--model", help="FILE.py:FUNCTION, when the run's own file has moved or changed")]


@app.command()
def run(
    model: Annotated[str | None, typer.Argument(help="a registered name, or FILE.py:FUNCTION")] = None,
    data: Data = None,
    recipe: Annotated[Path | None, typer.Option(help="a recipe in TOML; flags given beside it win")] = None,
    lr: Annotated[float | None, typer.Option(help="learning rate (left out: searched)")] = None,
    epochs: Annotated[int | None, typer.Option(help="epochs (left out: the best trial's best epoch)")] = None,
    trials: Annotated[int | None, typer.Option(help="trials of the search [20]")] = None,
    seed: Annotated[int | None, typer.Option(help="[3407]")] = None,
    batch_size: Annotated[int | None, typer.Option(help="[128]")] = None,
    optimizer: Annotated[str | None, typer.Option(help="adam, adamw or sgd [adam]")] = None,
    momentum: Annotated[float | None, typer.Option(help="of sgd [0]")] = None,
    schedule: Annotated[str | None, typer.Option(help="constant, one-cycle or cosine [constant]")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="[0]")] = None,
    clip_value: Annotated[float | None, typer.Option(help="clip each gradient value")] = None,
    clip_norm: Annotated[float | None, typer.Option(help="clip the gradients' norm")] = None,
    loss: Annotated[str | None, typer.Option(help="cross-entropy or squared-error [cross-entropy]")] = None,
    label_smoothing: Annotated[float | None, typer.Option(help="[0]")] = None,
    augment: Annotated[str | None, typer.Option(help="flip, crop=4, cutout=8, affine=10:3:0.1; joined by commas")] = None,
    normalise: Annotated[str | None, typer.Option(help="dataset, half, none, computed or means/stds [dataset]")] = None,
    size: Annotated[int | None, typer.Option(help="resize the images to this many pixels square")] = None,
    limit: Annotated[int | None, typer.Option(help="use at most this many images")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="a parameter of the model: channels=[16,32]")] = None,
    search: Annotated[list[str] | None, typer.Option("--search", help="search a parameter too: weight_decay=[1e-5,1e-2]")] = None,
    backend: Annotated[str | None, typer.Option(help="torch or mytorch [torch]")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:N or mps [auto]")] = None,
    budget: Annotated[str | None, typer.Option(help="time for search and training, as 10m or 1h30m")] = None,
    fast: Annotated[bool, typer.Option("--fast", help="one trial, one epoch, few images, every stage")] = False,
    quiet: Quiet = False,
    runs: Runs = None,
) -> None:
    """Search, train, evaluate and report: MODEL on DATA (cnn on digits when neither is given)."""
    from replab import api

    settings = _settings(locals())
    found = api.run(model, data, recipe=recipe, fast=fast, quiet=quiet, runs=runs, say=_sayer(quiet), **settings)
    _print_report(found, quiet)


@app.command()
def resume(
    run: Annotated[str, typer.Argument(help="id or folder of the run")],
    model: ModelFile = None,
    quiet: Quiet = False,
    runs: Runs = None,
) -> None:
    """Go on with an interrupted run; it ends with the same numbers as if left alone."""
    from replab import api

    _print_report(api.resume(run, model=model, runs=runs, quiet=quiet, say=_sayer(quiet)), quiet)


@app.command()
def models() -> None:
    """List the models."""
    from replab.models import registry

    _print_pairs([(name, registry.describe(name)) for name in registry.names()])
    print("\nYour own: replab run FILE.py:FUNCTION")


@app.command()
def datasets() -> None:
    """List the data sets."""
    from replab.data import sources

    _print_pairs([(name, sources.describe(name)) for name in sources.names()])
    print("\nYour own: --data FOLDER or --data FILE.zip with train/CLASS/* and test/CLASS/*, or CLASS/*")


@app.command()
def show(
    model: Annotated[str, typer.Argument(help="a registered name, or FILE.py:FUNCTION")],
    data: Data = None,
    size: Annotated[int | None, typer.Option(help="resize the images to this many pixels square")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="a parameter of the model: channels=[16,32]")] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="a Mermaid diagram instead of the table")] = False,
) -> None:
    """Print a model's layers with output shapes, parameters and MACs."""
    from replab import setup
    from replab.recipe import Recipe
    from replab.structure import trace

    recipe = Recipe(model=model).replace(**_settings({"set_": set_, "size": size, "data": data}))
    ready = setup.prepare(recipe)
    structure = trace(ready.fresh_model(), ready.data.spec)
    print(structure.mermaid() if mermaid else structure.table())


@app.command()
def report(run: Annotated[str, typer.Argument(help="id or folder of the run")], runs: Runs = None) -> None:
    """Write a run's report and figures again, and print it."""
    from replab import api
    from replab import report as reports

    found = api.load_run(run, runs)
    reports.write(found.record)
    _print_report(found, quiet=False)


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
    _print_table(found)


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


@app.command()
def compare(
    models: Annotated[list[str], typer.Argument(help="names, or FILE.py:FUNCTION")],
    data: Data = None,
    recipe: Annotated[Path | None, typer.Option(help="a recipe in TOML for all of them")] = None,
    lr: Annotated[float | None, typer.Option(help="learning rate (left out: searched for each)")] = None,
    epochs: Annotated[int | None, typer.Option(help="epochs")] = None,
    trials: Annotated[int | None, typer.Option(help="trials of each search [20]")] = None,
    seed: Annotated[int | None, typer.Option(help="[3407]")] = None,
    size: Annotated[int | None, typer.Option(help="resize the images to this many pixels square")] = None,
    budget: Annotated[str | None, typer.Option(help="time for each model, as 10m")] = None,
    fast: Annotated[bool, typer.Option("--fast", help="one trial, one epoch, few images")] = False,
    quiet: Quiet = False,
    runs: Runs = None,
) -> None:
    """Run several models under the same protocol, then one table and one figure."""
    from replab import api, comparison

    settings = _settings(locals())
    found = api.compare(models, data, recipe=recipe, fast=fast, quiet=quiet, runs=runs, say=_sayer(quiet), **settings)
    _print_table(found)
    print(f"figure: {comparison.write(found, api.runs_folder(runs))}")


def main() -> None:
    """Errors a user can put right are one line and exit code 2; Ctrl-C leaves a run that can be resumed."""
    try:
        app()
    except ReplabError as error:
        print(f"replab: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nreplab: interrupted" + _how_to_resume(), file=sys.stderr)
        sys.exit(130)


_folder_in_use: list[str] = []


def _sayer(quiet: bool) -> Any:
    def say(line: str) -> None:
        if line.startswith("run folder: "):
            _folder_in_use[:] = [line.removeprefix("run folder: ")]
        if not quiet:
            print(line, flush=True)

    return say


def _how_to_resume() -> str:
    return f"; replab resume {_folder_in_use[0]} goes on where it was" if _folder_in_use else ""


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """The flags that were given, as a Recipe's keys."""
    from replab.recipe import parse_seconds, parse_settings

    direct = (
        "lr", "epochs", "trials", "seed", "batch_size", "optimizer", "momentum", "schedule", "weight_decay", "clip_value",
        "clip_norm", "loss", "label_smoothing", "augment", "normalise", "size", "limit", "backend", "device",
    )  # fmt: skip
    settings = {key: given[key] for key in direct if given.get(key) is not None}
    if given.get("budget"):
        settings["budget"] = parse_seconds(given["budget"])
    if given.get("set_"):
        settings["params"] = parse_settings(given["set_"])
    if given.get("search"):
        settings["search"] = {"space": parse_settings(given["search"])}
    return settings


def _print_report(run: Any, quiet: bool) -> None:
    from replab import report

    if quiet:
        return
    print()
    _print_pairs(report.summary(run.record))
    print(f"\nreport: {run.folder / 'report.md'}")


def _print_pairs(pairs: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in pairs)
    for name, text in pairs:
        print(f"{name:<{width}}  {text}")


def _print_table(runs: list[Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from replab import comparison
    from replab.cost import duration

    table = Table(box=None, pad_edge=False)
    for name in ("model", "data", "accuracy", "95 %", "loss", "vs best", "params", "MACs", "lr", "epochs", "time", "images/s", "run"):
        table.add_column(name, justify="left" if name in ("model", "data", "vs best", "run") else "right")
    for r in comparison.table(runs):
        noise = "best" if r["p"] is None else f"p={r['p']:.2g}" + (" within noise" if r["p"] > 0.05 else "")
        table.add_row(
            r["model"], r["data"], f"{r['accuracy']:.2%}", f"{r['low']:.1%}–{r['high']:.1%}", f"{r['loss']:.4f}", noise,
            f"{r['parameters']:,}", f"{r['macs'] or 0:,}", f"{r['lr']:.3g}", f"{r['epochs']}" + ("*" if r["cut"] else ""),
            duration(r["seconds"]), f"{r['images_per_second']:,.0f}", r["run"],
        )  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 200).print(table)


if __name__ == "__main__":
    main()
