"""How results are printed: pairs, tables, the summary of a report."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from replab.records.text import visible

GAP = 2  # blanks between two columns
FOLDED = 14  # the least width of a column that goes on over several lines
# columns of the leaderboard, in the order in which a narrow terminal loses them
LEAST_NEEDED = (
    "MACs", "images/s", "loss", "lr", "epochs", "parameters", "train", "run", "95 %", "against the best",
)  # fmt: skip


def print_report(run: Any, quiet: bool) -> None:
    from replab.report.terminal import lines

    if quiet:
        return
    print()
    print_pairs(lines(run.record))
    print(f"\nreport: {run.folder / 'report.md'}, and report.html for a browser")
    print_steps("next: ", next_steps(run))


def next_steps(run: Any) -> list[str]:
    """What a finished run is good for, as commands to copy."""
    from replab.records.record import LATEST, find, runs_folder

    folder, name = runs_folder(), str(run.folder)
    if folder / run.id == run.folder:
        name = LATEST if find(LATEST, folder) == run.folder else run.id
    use = f"replab generate {name}" if run.record.path("samples").is_dir() else f"replab predict {name} IMAGE"
    return [use, "replab leaderboard", f"replab run --recipe {run.folder / 'recipe.toml'} --seeds 3"]


def print_steps(name: str, steps: Sequence[str]) -> None:
    """Commands to copy, in one line or, in a terminal that is too narrow, broken between two of them."""
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    lines = [name + steps[0]]
    for step in steps[1:]:
        if len(lines[-1]) + 3 + len(step) <= room:
            lines[-1] += f" · {step}"
        else:
            lines.append(" " * len(name) + step)
    print("\n".join(lines))


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Names in a column. In a terminal long texts go on below themselves; commands and paths stay whole, to copy."""
    width = max((len(name) for name, _ in pairs), default=0)
    room = shutil.get_terminal_size().columns - width - 2
    for name, text in ((visible(name), visible(text)) for name, text in pairs):
        wraps = sys.stdout.isatty() and room >= 30 and name not in ("repeat with", "run folder")
        lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) if wraps else [text]
        for i, line in enumerate(lines or [""]):
            print(f"{'' if i else name:<{width}}  {line}".rstrip())


def print_text(text: str) -> None:
    """A sentence; in a terminal its lines break between words."""
    for line in text.splitlines():
        parts = textwrap.wrap(line, shutil.get_terminal_size().columns) if sys.stdout.isatty() else [line]
        print("\n".join(parts))


def print_rows(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    drop: Sequence[str] = (),
    fold: Sequence[str] = (),
) -> list[str]:
    """A table without lines; the columns of numbers are aligned to the right. → the columns that had no room.

    Where the terminal is too narrow, the columns in `drop` are left out, the first first; those in `fold` go on over
    several lines. Nothing else is shortened.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    rows = [[visible(cell) for cell in row] for row in rows]  # names from elsewhere obey nothing
    console = Console(width=None if sys.stdout.isatty() else 220)
    widths = {name: max(cell_len(row[i]) for row in [columns, *rows]) for i, name in enumerate(columns)}
    widths |= {name: min(widths[name], FOLDED) for name in fold}
    gone: list[str] = []

    def fits() -> bool:
        left = [width for name, width in widths.items() if name not in gone]
        return sum(left) + GAP * (len(left) - 1) <= console.width

    for name in drop:
        if not fits():
            gone.append(name)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for name in columns:
        if name not in gone:
            table.add_column(
                name, justify="right" if name in right else "left", overflow="fold",
                no_wrap=fits() and name not in fold,
            )  # fmt: skip
    shown = [i for i, name in enumerate(columns) if name not in gone]
    for row in rows:
        table.add_row(*(row[i] for i in shown))
    console.print(table, markup=False, highlight=False)
    return gone


def print_table(runs: Sequence[Any], sort: str = "accuracy", say: Callable[[str], None] = lambda line: None) -> None:
    """Runs side by side, best first; `say` is told of those that cannot be read."""
    from replab.runs import compare as comparison

    rows = comparison.aligned([comparison.cells(facts) for facts in comparison.table(runs, sort, say)])
    columns = list(rows[0]) if rows else ["model", "data"]
    left = ("model", "data", "against the best", "run")
    gone = print_rows(
        columns, [list(row.values()) for row in rows], right=[n for n in columns if n not in left], drop=LEAST_NEEDED
    )
    print_text(comparison.LEGEND)
    if gone:
        print_text(f"left out to fit: {', '.join(gone)} (a wider terminal or --csv shows all)")


def print_seeds(runs: Sequence[Any], theme: str = "light") -> None:
    """Mean and spread of runs that differ in their seed, how the groups compare, and where their joint report is."""
    from replab.report import seeds
    from replab.runs import over_seeds

    print()
    groups = over_seeds.groups(runs)
    print_pairs(over_seeds.lines(groups) if groups else [])
    print(over_seeds.redrawn(runs))
    folder = seeds.write(runs, theme)
    print(f"report: {folder / 'report.md'}, and report.html for a browser")
    print(f"figure: {folder / seeds.FIGURE}")
