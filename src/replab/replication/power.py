"""replab replicate ROW --to-see 0.2: how many seeds a difference needs, from the spread that was measured so far."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from replab.records.seeds import seeds_to_see
from replab.replication.entry import FIXED, Entry
from replab.replication.ledger import groups
from replab.replication.packs import Published, Row


def plan(known: Published, entries: Sequence[Entry], rows: Sequence[Row], difference: float) -> Iterator[str]:
    """One sentence per row. The difference is in the unit of the row's first figure, between rows of this spread."""
    measured = {group.row.id: group for group in reversed(groups(known, entries)) if group.way == FIXED}
    for row in rows:
        measure = row.figures[0].measure if row.figures else "test_accuracy"
        seeds = group.summary(measure) if (group := measured.get(row.id)) else None
        if group is None or seeds is None or seeds.spread is None:
            yield f"{row.id}: the spread over seeds is not known; {shlex.join(row.words)} --seeds 3 measures it"
            continue
        n = seeds_to_see(difference, seeds.spread)
        minutes = sum(e.minutes for e in group.entries) / len(group.entries)
        yield (
            f"{row.id}: {n} seeds on either side show a difference of {difference:g} with 80 % power (spread"
            f" {seeds.spread:.2g} over {seeds.n} seeds on {group.data}); {max(0, n - seeds.n)} more here, about"
            f" {minutes:.1f} minutes each: {shlex.join(row.words)} --seeds {n}"
        )
