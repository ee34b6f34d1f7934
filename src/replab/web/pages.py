"""What each page shows, as plain values for its template. Each is made of the run folders as they are now."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from replab.errors import ReplabError, RunError
from replab.records import journal
from replab.records.record import Record
from replab.records.statistics import mcnemar, paired_difference
from replab.records.text import visible
from replab.records.values import Values
from replab.report import page
from replab.report.page import charts
from replab.report.page.pictures import sprite
from replab.runs import compare
from replab.runs.run import Run
from replab.web.listing import Row

COMPARED = 10  # runs on one page
PAIRS = 15  # paired tests on one page
IMAGES = 60  # images on which runs disagree
FIRST = ("accuracy", "loss", "seed", "epochs", "learning rate")


def columns(rows: list[Row]) -> dict[str, list[str]]:
    """Settings and metrics that some run has, the commonest first after those that --metric asked for."""
    asked = list(dict.fromkeys(name for row in rows for name in row["asked"]))
    place = {name: i for i, name in enumerate((*FIRST[:2], *asked, *FIRST[2:]))}
    found = {"asked": asked}
    for kind in ("settings", "metrics"):
        counts: dict[str, int] = {}
        for row in rows:
            for name in row[kind]:
                counts[name] = counts.get(name, 0) + 1
        found[kind] = sorted(counts, key=lambda name: (place.get(name, len(place)), -counts[name], name))
    return found


def report(record: Record) -> dict[str, Any]:
    """A finished run, as in report.html."""
    drawn = sorted(name for name in record.manifest.entries() if name.startswith("figures/") and record.has(name))
    inside = [name.removeprefix("figures/") for name in drawn if within(record, name)]
    return page.content(Values(record), inside)


def within(record: Record, name: str) -> bool:
    """Whether a file is really in the run's folder: no link leads elsewhere."""
    return record.path(name).resolve().is_relative_to(record.folder.resolve())


def live(record: Record, state: Row) -> dict[str, Any]:
    """What a page asks for again and again while a run goes on."""
    events = journal.read(record.folder)
    rows = [e["row"] for e in events if e["event"] == "epoch" and "trial" not in e and isinstance(e.get("row"), dict)]
    latest = {row.get("epoch", i + 1): row for i, row in enumerate(rows)}  # an epoch made again counts once
    said = [visible(e.get("text", "")) for e in events if e["event"] == "message"]
    return {
        "state": state["state"],
        "progress": state["progress"],
        "finished": state["finished"],
        "curves": charts.curves([latest[epoch] for epoch in sorted(latest)]),
        "search": charts.search(record.trials(), None) if record.has("study.jsonl") else [],
        "messages": said[-30:],
    }


def comparison(records: list[Record]) -> dict[str, Any]:
    """Curves over each other, accuracies with intervals, paired tests, and images on which the runs disagree."""
    if len(records) > COMPARED:
        raise RunError(f"at most {COMPARED} runs are compared on one page, got {len(records)}; choose fewer")
    runs = [Run(record) for record in records]
    faults: list[str] = []
    rows = compare.table([run for run in runs if run.finished], say=faults.append)
    epochs = {}
    for run in runs:
        try:
            epochs[run.id] = run.epochs
        except ReplabError as error:
            faults.append(f"left out: {error}")
    names = list(dict.fromkeys(name for each in epochs.values() for row in each[-1:] for name in row))
    drawn = [name for name in names if name.startswith(("test_", "train_")) and not name.endswith(("_se", "_ece"))]
    order = sorted(drawn, key=lambda name: (not name.startswith("test_"), not name.endswith(("accuracy", "loss"))))
    pairs, images = paired([run for run in runs if any(row["run"] == run.id for row in rows)])
    return {
        "rows": rows,
        "metrics": list(dict.fromkeys(name for row in rows for name in row["metrics"])),
        "faults": faults,
        "pairs": pairs,
        "data": {"compare": charts.over_each_other(epochs, order[:6]), "disagree": images},
    }


def paired(runs: list[Run]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Differences of runs on the same test images, and kept images that the first such pair answers differently."""
    found, images = [], None
    for a, b in list(combinations(runs, 2))[:PAIRS]:
        one, two = a.values, b.values
        if one.input["fingerprint"] != two.input["fingerprint"] or one.answers is None or two.answers is None:
            continue
        if len(one.answers.labels) != len(two.answers.labels):
            continue
        right = one.answers.right, two.answers.right
        gain, low, high = (100 * value for value in paired_difference(*right))
        p = mcnemar(*right)
        found.append({"a": a.id, "b": b.id, "gain": gain, "low": low, "high": high, "p": p, "noise": p > compare.NOISE})
        images = images or disagreements(one, two)
    return found, images


def disagreements(one: Values, two: Values) -> dict[str, Any] | None:
    """Kept images of which exactly one run's answer is right, the surest first."""
    kept = one.examples or two.examples
    first, second = one.answers, two.answers
    if kept is None or first is None or second is None:
        return None
    differ = [i for i, n in enumerate(kept.index) if first.right[n] != second.right[n]]
    differ.sort(key=lambda i: -max(first.confidence[kept.index[i]], second.confidence[kept.index[i]]))
    names, items = one.classes, []
    for i in differ[:IMAGES]:
        n = int(kept.index[i])
        answers = [(names[a.predicted[n]], float(a.confidence[n])) for a in (first, second)]
        items.append({"number": n, "true": names[first.labels[n]], "answers": answers})
    if not items:
        return None
    return {"runs": [one.record.id, two.record.id], "images": sprite(kept.pixels[differ[:IMAGES]]), "items": items}


def catalogue() -> dict[str, Any]:
    """Models and data sets by name, read from their files as text: nothing is imported."""
    from replab.data.source import source
    from replab.models.registry import MODELS

    return {
        "models": [(name, MODELS.describe(name)) for name in MODELS.names()],
        "sources": [(name, source.describe(name)) for name in source.names()],
    }
