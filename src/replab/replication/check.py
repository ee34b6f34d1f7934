"""replab replicate --check: the first epoch of each measured row again, and whether it still gives the same numbers.

One epoch of the whole schedule is a small part of a row's cost, and a change of images, model, batches, optimizer or
arithmetic shows in it already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from replab.errors import ReplabError
from replab.records.events import Events
from replab.replication.entry import FIXED, Entry
from replab.replication.packs import Row
from replab.settings.recipe import Recipe
from replab.training.prepare import prepare

CLOSE = 1e-3  # relative: other threads or processors add in another order


class Checked(NamedTuple):
    entry: Entry
    word: str  # same, close, differs, not checked
    text: str  # the numbers, or why not


def check(entries: Iterable[Entry], rows: Mapping[str, Row]) -> Iterator[Checked]:
    """One after the other; an entry whose images are not here is said to be unchecked."""
    for entry in entries:
        if entry.way != FIXED:
            yield Checked(entry, "not checked", "its first epoch is one of a search")
        elif not (then := first_epoch(entry)):
            yield Checked(entry, "not checked", "it kept no number of its first epoch")
        else:
            try:
                fingerprint, now = repeat(entry.recipe_of(rows[entry.id].recipe))
            except ReplabError as error:
                yield Checked(entry, "not checked", str(error))
                continue
            if entry.fingerprint and fingerprint != entry.fingerprint:
                yield Checked(entry, "differs", f"the images were {entry.fingerprint}, are {fingerprint}")
            else:
                yield Checked(entry, *compare(then, now))


def first_epoch(entry: Entry) -> dict[str, float]:
    """What the row kept of it: every column, or of older rows the test accuracy."""
    if entry.curve:
        return {name: values[0] for name, values in entry.curve.items()}
    accuracy = entry.values.get("first_epoch_accuracy", (None,))[0]
    return {} if accuracy is None else {"test_accuracy": accuracy / 100}


def repeat(recipe: Recipe) -> tuple[str, dict[str, float]]:
    """Fingerprint of the images, and the numbers of the first epoch as the pipeline makes it."""
    experiment = prepare(recipe.replace(stop_after=1))
    events = Events()
    learner = experiment.learner(events)
    model = learner.model(experiment.recipe)
    rows = learner.fit(
        model,
        experiment.recipe,
        watch={"test": learner.data.test},
        events=events,
    )
    row, _ = next(iter(rows))
    return experiment.data.fingerprint, row


def compare(then: Mapping[str, float], now: Mapping[str, float]) -> tuple[str, str]:
    shared = [name for name in then if name in now]
    apart = {name: abs(then[name] - now[name]) / max(abs(then[name]), 1e-12) for name in shared}
    worst = max(apart, key=lambda name: apart[name])
    text = f"{worst.replace('_', ' ')} {then[worst]:.6g} then, {now[worst]:.6g} now"
    if max(apart.values()) <= 1e-12:
        return "same", f"{len(shared)} number{'s' * (len(shared) > 1)}, to the last digit"
    return ("close" if max(apart.values()) <= CLOSE else "differs"), text
