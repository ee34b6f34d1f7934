"""Protocols: recipe files, one each, that say how a run goes about what it is not told. Read as text here."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from replab.errors import UnknownName

FOLDER = Path(__file__).parent
ORDER = ("standard", "quick", "thorough", "notes")  # of lists; others follow


@cache
def names() -> list[str]:
    there = sorted(path.stem for path in FOLDER.glob("*.toml"))
    return sorted(there, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def check(name: str) -> None:
    if name not in names():
        raise UnknownName("protocol", name, names(), "replab protocol list shows them")


def text(name: str) -> str:
    """The file, comments included."""
    check(name)
    return (FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def describe(name: str) -> str:
    """The comment at its top, as one line."""
    lines = text(name).splitlines()
    top = lines[: next(place for place, line in enumerate(lines) if not line.startswith("#"))]
    return " ".join(line.removeprefix("#").strip() for line in top)
