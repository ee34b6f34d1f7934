"""How results are printed: pairs, tables, the summary of a report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any


def print_report(run: Any, quiet: bool) -> None:
    from replab.report.terminal import lines

    if quiet:
        return
    print()
    print_pairs(lines(run.record))
    print(f"\nreport: {run.folder / 'report.md'}")


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    width = max((len(name) for name, _ in pairs), default=0)
    for name, text in pairs:
        print(f"{name:<{width}}  {text}")


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """A table without lines; the columns of numbers are aligned to the right."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 220).print(table, markup=False)


def print_table(runs: Sequence[Any], sort: str = "accuracy", say: Callable[[str], None] = lambda line: None) -> None:
    """Runs side by side, best first; `say` is told of those that cannot be read."""
    from replab.runs import compare as comparison
    from replab.settings.words import duration

    numbers = ("accuracy %", "95 %", "loss", "params", "MACs", "lr", "epochs", "train", "images/s")
    columns = ("model", "data", *numbers[:3], "against the best", *numbers[3:], "run")
    rows = []
    for r in comparison.table(runs, sort, say):
        accuracy = "–" if r["accuracy"] is None else f"{r['accuracy'] * 100:.2f}" + ("*" if r["pareto"] else " ")
        interval = "–" if r["low"] is None else f"{r['low'] * 100:.1f}–{r['high'] * 100:.1f}"
        loss = "–" if r["loss"] is None else f"{r['loss']:.4f}"
        rows.append((
            r["model"], r["data"], accuracy, interval, loss, comparison.noise(r), f"{r['parameters']:,}",
            f"{r['macs'] or 0:,}", f"{r['lr']:.3g}", f"{r['epochs']}" + (" cut" if r["cut"] else ""),
            duration(r["seconds"]), f"{r['images_per_second']:,.0f}", r["run"],
        ))  # fmt: skip
    print_rows(columns, rows, right=numbers)
    print(comparison.LEGEND)


def print_seeds(runs: Sequence[Any], folder: Any = None) -> None:
    """Mean and spread of runs that differ in their seed, how the groups compare, and one figure of all of them."""
    from replab.records.record import runs_folder
    from replab.runs import compare as comparison
    from replab.runs import over_seeds

    print()
    groups = over_seeds.groups(runs)
    print_pairs(over_seeds.lines(groups) if groups else [])
    print(over_seeds.REDRAWN)
    for path in comparison.draw(runs, runs_folder(folder)):
        print(f"figure: {path}")
