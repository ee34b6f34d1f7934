"""The ledger's rows that a picture of published against measured shows, and that picture in both themes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replab.figures import style
from replab.figures.published import draw_published
from replab.figures.theme import THEMES
from replab.replication import ledger, results
from replab.replication.entry import FIXED, Entry
from replab.replication.packs import Published, published

NO_PAIR = ("never published", "not comparable")


def rows(known: Published, entries: Sequence[Entry]) -> tuple[list[dict[str, Any]], int]:
    """(the first figure in per cent of each row that can be compared, how many measured rows have none)."""
    lines = [line for line in ledger.lines(known, entries) if line["n"] and line["settings"] == FIXED]
    pairs: dict[str, dict[str, Any]] = {}
    for line in lines:
        number = isinstance(line["published"], (int, float)) and line["verdict"] not in NO_PAIR
        if number and line["unit"] == "%" and not line["bound"] and line["margin"]:
            pairs.setdefault(line["id"], line)
    return list(pairs.values()), len({line["id"] for line in lines}) - len(pairs)


def write(folder: Path, file: Path) -> list[Path]:
    """FILE for light pages and FILE-dark for dark ones."""
    shown, others = rows(published(), results.read(results.to_show(folder)))
    note = f"{others} more measured rows have no number to compare with: see the ledger" if others else ""
    return [
        style.save(draw_published(shown, note), file.with_stem(file.stem + ("-dark" if theme == "dark" else "")),
                   theme=theme)
        for theme in THEMES
    ]  # fmt: skip
