"""The command line's frame: the app, the options that several commands share, and how results are printed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

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
ModelFile = Annotated[
    str | None, typer.Option("--model", help="FILE.py:FUNCTION, when the run's own file has moved or changed")
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="run the code that the run's folder brings, after showing its path and hash")
]


def asked(trust: bool) -> Callable[[str], bool]:
    """Show what a run's folder would run; then the answer is --trust, or that of the person at the terminal."""

    def answer(what: str) -> bool:
        if trust:
            print(what, file=sys.stderr)
            return True
        return sys.stdin.isatty() and sys.stderr.isatty() and typer.confirm(f"{what}. Run it?", err=True)

    return answer


_folder_in_use: list[Path] = []


def sayer(quiet: bool) -> Callable[[str], None]:
    """What a run tells while it goes on; its folder is remembered, so that Ctrl-C can say how to resume."""

    def say(line: str) -> None:
        if line.startswith("run folder: "):
            _folder_in_use[:] = [Path(line.removeprefix("run folder: "))]
        if not quiet:
            print(line, flush=True)

    return say


def how_to_resume() -> str:
    return f"; replab resume {_folder_in_use[0]} goes on where it was" if _folder_in_use else ""


def recipe_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The flags that were given, as a Recipe's keys."""
    from replab.settings.text import parse_seconds, parse_settings

    direct = (
        "lr", "epochs", "trials", "seed", "batch_size", "optimizer", "momentum", "schedule", "weight_decay",
        "clip_value", "clip_norm", "loss", "label_smoothing", "augment", "augmented_copy", "normalise", "size", "limit",
        "classes", "per_class", "backend", "device", "pretrained", "weights", "freeze", "freeze_until",
        "unfreeze_every", "lr_backbone", "head", "neighbours", "metric", "feature_cache", "mup", "base_width",
    )  # fmt: skip
    settings = {key: given[key] for key in direct if given.get(key) is not None}
    if given.get("budget"):
        settings["budget"] = parse_seconds(given["budget"])
    if given.get("set_"):
        settings["params"] = parse_settings(given["set_"])
    if given.get("search"):
        settings["search"] = {"space": parse_settings(given["search"])}
    return settings


def print_report(run: Any, quiet: bool) -> None:
    from replab.report.terminal import lines

    if quiet:
        return
    print()
    print_pairs(lines(run.record))
    print(f"\nreport: {run.folder / 'report.md'}")


def print_pairs(pairs: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in pairs)
    for name, text in pairs:
        print(f"{name:<{width}}  {text}")


def print_table(runs: list[Any], sort: str = "accuracy") -> None:
    from rich.console import Console
    from rich.table import Table

    from replab.records.text import duration
    from replab.runs import compare as comparison

    table = Table(box=None, pad_edge=False)
    left = ("model", "data", "against the best", "run")
    numbers = ("accuracy %", "95 %", "loss", "params", "MACs", "lr", "epochs", "train", "images/s")
    for name in (*left[:2], *numbers[:3], left[2], *numbers[3:], left[3]):
        table.add_column(name, justify="left" if name in left else "right", no_wrap=True)
    rows = comparison.table(runs, sort)
    for r in rows:
        accuracy = "–" if r["accuracy"] is None else f"{r['accuracy'] * 100:.2f}" + ("*" if r["pareto"] else " ")
        interval = "–" if r["low"] is None else f"{r['low'] * 100:.1f}–{r['high'] * 100:.1f}"
        loss = "–" if r["loss"] is None else f"{r['loss']:.4f}"
        table.add_row(
            r["model"], r["data"], accuracy, interval, loss, comparison.noise(r), f"{r['parameters']:,}",
            f"{r['macs'] or 0:,}", f"{r['lr']:.3g}", f"{r['epochs']}" + (" cut" if r["cut"] else ""),
            duration(r["seconds"]), f"{r['images_per_second']:,.0f}", r["run"],
        )  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 220).print(table)
    print("* no other run on the data is both more accurate and faster to train; p: McNemar's, on the same test images")
