"""A run's facts for the terminal: one line each, names in a column."""

from __future__ import annotations

from replab.records.record import Record
from replab.records.text import visible
from replab.records.values import Values
from replab.runs.facts import facts


def lines(record: Record) -> list[tuple[str, str]]:
    """(name, text) without control characters, which a terminal would obey."""
    return [(visible(name), visible(text)) for name, text in facts(Values(record))]
