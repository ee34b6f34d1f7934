"""The ledger's page: published beside measured, each row leading to its source, its recipe and its runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from replab.errors import ReplabError
from replab.records.record import Record
from replab.replication import ledger_text
from replab.replication import results as folder
from replab.replication.entry import Entry, identity
from replab.replication.ledger import claim_lines, lines
from replab.replication.packs import Published, published
from replab.settings.words import count


def ledger(results: Path, records: Iterable[Record] = ()) -> dict[str, Any]:
    """Published beside measured, each with its distance and where it comes from, and the claims."""
    known = published()
    entries = folder.read(folder.to_show(results))
    made = runs_by_identity(records)
    rows, more = [], []
    for line in lines(known, entries):
        more.append(behind(known, line, entries, made))
        rows.append(
            line
            | {
                "row": ledger_text.row_name(line),
                "what": ledger_text.figure_name(line),
                "printed": ledger_text.printed(line),
                "got": ledger_text.measured(line),
                "away": away(line),
            }
        )
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    claims = claim_lines(known, entries)
    return {"rows": rows, "claims": claims, "counts": counts, "data": {"rows": more}}


def runs_by_identity(records: Iterable[Record]) -> dict[str, list[str]]:
    """Ids of the runs that asked for the same, by what they asked for."""
    found: dict[str, list[str]] = {}
    for record in records:
        with contextlib.suppress(ReplabError, ValueError, TypeError, OSError):  # a damaged run leads nowhere
            found.setdefault(identity(record.recipe()), []).append(record.id)
    return found


def behind(
    known: Published, line: dict[str, Any], entries: Sequence[Entry], made: dict[str, list[str]]
) -> dict[str, Any]:
    """What a row of the ledger rests on: the published source, the recipe, and each measured seed with its runs."""
    row = known.rows[line["id"]]
    source = known.sources[row.source]
    url = str(source.get("url", ""))
    measured = [e for e in entries if e.id == row.id and e.way == line["settings"] and e.images == line["data"]]
    seeds = []
    for entry in measured:
        facts = [count(entry.epochs, "epoch"), f"{entry.minutes:.1f} minutes", entry.hardware, f"commit {entry.commit}"]
        seeds.append({"seed": entry.seed, "text": ", ".join(facts), "runs": made.get(entry.recipe, [])})
    return {
        "title": f"{ledger_text.row_name(line)}: {ledger_text.figure_name(line)}",
        "source": str(source.get("title", row.source)),
        "citation": str(source.get("citation", "")),
        "url": url if url.startswith(("https://", "http://")) else "",
        "notes": [str(text) for text in (row.notes, source.get("notes", "")) if text],
        "recipe": [("model", row.recipe.model), *row.recipe.described(without=("model",))],
        "command": line["command"],
        "seeds": seeds,
    }


def away(line: dict[str, Any]) -> dict[str, float] | None:
    """Measured minus published, in points of per cent or in per cent of what was published, and its spread."""
    published, measured = line["published"], line["measured"]
    if not isinstance(published, float) or measured is None:
        return None
    unit = 1.0 if line["unit"] == "%" else 100 / max(abs(published), 1e-12)
    margin = (line["margin"] or 0.0) * unit
    return {"by": (measured - published) * unit, "spread": (line["spread"] or 0.0) * unit, "margin": margin}
