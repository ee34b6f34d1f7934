"""The ledger's lines: published beside measured, and the verdict on each."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from replab.data.source import source
from replab.errors import RecipeError
from replab.records.seeds import Summary, bootstrap, summarise
from replab.replication import claims
from replab.replication.entry import FIXED, Entry, identity, unpacked
from replab.replication.measures import MEASURES
from replab.replication.packs import Claim, Figure, Published, Row
from replab.replication.verdict import word_and_reason

CHANGED = "measured by another recipe than the row's of today"


@dataclass(frozen=True)
class Group:
    """Seeds of one row under one set of conditions."""

    row: Row
    way: str
    data: str
    epochs: int | None  # None: as the searches found
    stopped_of: int | None  # the schedule's, where the runs were stopped before its end
    entries: tuple[Entry, ...]

    @property
    def reduced(self) -> bool:
        return self.way == FIXED and self.epochs != self.row.recipe.epochs

    def summary(self, measure: str) -> Summary | None:
        found = [e.values[measure] for e in self.entries if measure in e.values]
        return summarise([float(k[0] or 0.0) for k in found], [k[1] for k in found]) if found else None

    def by_seed(self, measure: str) -> dict[int, float]:
        return {e.seed: float(e.values[measure][0] or 0.0) for e in self.entries if measure in e.values}

    def interval(self, measure: str) -> tuple[float, float] | None:
        """95 % of a mean test accuracy over other seeds and other test images; None where rows kept no answers."""
        answers = tuple(e.right for e in self.entries if e.right)
        same = len({e.fingerprint for e in self.entries}) == 1  # --limit draws test images by the seed
        if measure != "test_accuracy" or len(answers) < max(2, len(self.entries)) or not same:
            return None
        return _interval(answers)

    @cached_property
    def stale(self) -> str:
        """How many seeds today's code may not repeat, and why."""
        reasons = [reason for entry in self.entries if (reason := staleness(self.row, entry))]
        return f"stale: {len(reasons)} of {len(self.entries)} seeds {_joined(reasons)}" if reasons else ""

    @property
    def trained(self) -> tuple[int | None, int | None]:
        """Epochs, trained and published, where they differ."""
        return (self.epochs, self.row.recipe.epochs) if self.reduced else (None, None)


def groups(known: Published, entries: Iterable[Entry]) -> list[Group]:
    """The fullest group of each (row, way, data, schedule): published epochs first, then more epochs, then seeds."""
    seeds: dict[tuple[str, str, str, int | None, int | None], dict[int, Entry]] = {}
    for entry in entries:
        key = (entry.id, entry.way, entry.images, entry.epochs if entry.way == FIXED else None, entry.stopped_of)
        seeds.setdefault(key, {})[entry.seed] = entry  # the latest of a seed
    best: dict[tuple[str, str, str, int | None], Group] = {}
    for (name, way, data, epochs, of), by_seed in seeds.items():
        if name in known.rows:
            group = Group(known.rows[name], way, data, epochs, of, tuple(by_seed[s] for s in sorted(by_seed)))
            best[name, way, data, of] = max(best.get((name, way, data, of), group), group, key=_fullness)
    order = list(known.rows)
    return sorted(best.values(), key=lambda g: (order.index(g.row.id), g.way, g.data != g.row.recipe.data, g.data))


def _fullness(group: Group) -> tuple[bool, int, int]:
    return (not group.reduced, group.epochs or 0, len(group.entries))


def lines(known: Published, entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """One line per figure of each group, and one per figure of rows that are not measured."""
    by_row: dict[str, list[Group | None]] = {name: [] for name in known.rows}
    for group in groups(known, entries):
        by_row[group.row.id].append(group)
    return [
        _line(row, figure, group)
        for name, row in known.rows.items()
        for group in by_row[name] or [None]
        for figure in row.figures or (Figure(""),)
    ]


def _line(row: Row, figure: Figure, group: Group | None) -> dict[str, Any]:
    epochs = group.trained if group else (None, None)
    if group and group.stopped_of == row.recipe.epochs and group.epochs and figure.measure in row.curve:
        printed = row.curve[figure.measure][group.epochs - 1]  # the same schedule, so the line printed at that epoch
        figure, epochs = replace(figure, published=printed, note=f"as printed after epoch {group.epochs}"), (None, None)
    measured = group.summary(figure.measure) if group else None
    measure = MEASURES.get(figure.measure)
    word, reason = word_and_reason(
        figure.published,
        measured,
        figure.tolerance,
        measure.higher_is_better if measure else True,
        data=(group.data, row.recipe.data) if group else ("", ""),
        epochs=epochs,
        bound=figure.bound,
        incomparable=figure.incomparable,
        absent=row.not_run or row.unmeasured or f"not measured yet: {shlex.join(row.words)}",
    )
    made = group.entries if group else ()
    interval = group.interval(figure.measure) if group else None
    return {
        "id": row.id,
        "settings": group.way if group else FIXED,
        "figure": measure.label if measure else figure.measure.replace("_", " "),
        "way": "right" if figure.right else "published",
        "published": row.published if figure.published is None else figure.published,
        "measured": measured and measured.mean,
        "spread": measured and measured.spread,
        "images_error": measured and measured.images,
        "low": interval and interval[0],
        "high": interval and interval[1],
        "n": measured.n if measured else 0,
        "seeds": " ".join(str(e.seed) for e in made),
        "unit": measure.unit if measure else "",
        "margin": figure.tolerance,
        "bound": figure.bound,
        "data": group.data if group else row.recipe.data,
        "epochs": _epochs(group) if group else row.recipe.epochs,
        "lr": _range([e.lr for e in made]) if made else row.recipe.lr,
        "minutes": sum(e.minutes for e in made) / len(made) if made else None,
        "flops": made[0].flops if made else None,
        "hardware": _joined(e.hardware for e in made),
        "commit": _joined(e.commit for e in made),
        "command": made[-1].command if made else shlex.join(row.words),  # the last seed's makes all
        "published_duration": row.duration,
        "published_hardware": row.hardware,
        "verdict": word,
        "reason": reason,
        "stale": group.stale if group else "",
        "renew": renewal(made) if group and group.stale else "",
        "note": figure.note,
    }


def claim_lines(known: Published, entries: Iterable[Entry]) -> list[dict[str, str]]:
    """One line per claim and data set on which all its rows are measured, or one that says what is missing."""
    measured = [group for group in groups(known, entries) if group.way == FIXED]

    def lookup(data: str | None, row: str, measure: str) -> claims.Found | None:
        of_row = [g for g in measured if g.row.id == row and data in (None, g.data)]
        group = max(of_row, key=_fullness, default=None)
        values = group.by_seed(measure) if group else {}
        return claims.Found(values, group.data, group.row.recipe.data, group.trained) if group and values else None

    judged: list[tuple[Claim, claims.Judged, str]] = []
    for claim in known.claims.values():
        named = {row for check in claim.checks for row in (*check.runs, *check.control)}
        sets = dict.fromkeys(group.data for group in measured if group.row.id in named)
        shared: list[str | None] = [
            data for data in sets if named <= {group.row.id for group in measured if group.data == data}
        ]
        judged += [(claim, claims.evaluate(claim, partial(lookup, data)), data or "") for data in shared or [None]]
    out = []
    for pack in known.sources:  # the claims of one pack are one family
        family = [item for item in judged if item[0].id.startswith(pack + "/")]
        for (claim, _, data), word in zip(family, claims.corrected([one for _, one, _ in family])):
            out.append({
                "id": claim.id, "claim": claim.words, "control": claim.control,
                "data": data, "verdict": word.verdict, "reason": word.reason,
            })  # fmt: skip
    return out


def _epochs(group: Group) -> Any:
    found = _range([e.epochs for e in group.entries])
    return f"first {found} of {group.stopped_of}" if group.stopped_of else found


def staleness(row: Row, entry: Entry) -> str:
    """Why today's code would measure something else, or may give another number; "" where it should give the same."""
    try:
        today = entry.recipe_of(row.recipe, None if entry.way == FIXED else row.search_recipe())
    except RecipeError:  # its epochs or its search are no longer those of the row
        return CHANGED
    return entry.stale if identity(today) == entry.recipe else CHANGED


def renewal(entries: Sequence[Entry]) -> str:
    """The command that measures these again, on the row's own images if theirs are gone."""
    words = shlex.split(entries[-1].command)
    if "--data" in words and words[words.index("--data") + 1] not in source.names():
        del words[words.index("--data") : words.index("--data") + 2]
    return shlex.join([*words, "--renew"])


@cache
def _interval(answers: tuple[str, ...]) -> tuple[float, float]:
    """In per cent; asked for by every text that is made of the ledger."""
    low, high = bootstrap(np.stack([unpacked(each) for each in answers]))
    return 100 * low, 100 * high


def _range(values: list[Any]) -> Any:
    return values[0] if len(set(values)) == 1 else f"{min(values):g} to {max(values):g}"


def _joined(words: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(words))
