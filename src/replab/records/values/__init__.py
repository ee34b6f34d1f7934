"""A run's plain values, each file read once, when it is asked for: what figures, tasks and reports are made of."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.errors import RunError
from replab.records import journal
from replab.records.record import Record, header
from replab.records.text import visible
from replab.records.trial import Trial
from replab.records.values import examples, explanations
from replab.records.values.answers import Answers, read_answers
from replab.records.values.arrays import Arrays
from replab.settings.recipe import Recipe

if TYPE_CHECKING:
    from replab.records.values.examples import Examples
    from replab.records.values.explanations import Explanation


class Values:
    """What one run folder holds. Needs no model, no data and no torch."""

    def __init__(self, record: Record):
        self.record = record

    @cached_property
    def recipe(self) -> Recipe:
        return self.record.recipe()

    @cached_property
    def chosen(self) -> Recipe:
        """The recipe with everything decided."""
        return self.record.chosen()

    @cached_property
    def input(self) -> dict[str, Any]:
        """Data name, image shape, classes, normalisation."""
        return self._json("input.json")

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Parameters, MACs, memory, speed, structure."""
        return self._json("facts.json")

    @cached_property
    def metrics(self) -> dict[str, float]:
        return dict(self.record.read_json("metrics.json", {}))

    @cached_property
    def environment(self) -> dict[str, Any]:
        return self._json("environment.json")

    @cached_property
    def epochs(self) -> list[dict[str, float]]:
        return self.record.read_lines("epochs.jsonl")

    @cached_property
    def times(self) -> list[dict[str, Any]]:
        return journal.times(self.record.folder)

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Seconds by stage."""
        total: dict[str, float] = {}
        for entry in self.times:
            total[entry["stage"]] = total.get(entry["stage"], 0.0) + entry["seconds"]
        return total

    @cached_property
    def cuts(self) -> list[str]:
        """What a budget left out."""
        return [str(cut) for cut in self.record.read_json("cuts.json", [])]

    @cached_property
    def split(self) -> dict[str, Any]:
        """How many training images a search trained and validated on."""
        return self._json("split.json")

    @cached_property
    def trials(self) -> list[Trial]:
        return self.record.trials()

    @cached_property
    def chosen_trial(self) -> Trial | None:
        """The complete trial whose parameters the chosen recipe has."""

        def has(key: str, value: Any) -> bool:
            decided = self.chosen.params.get(key, getattr(self.chosen, key, None))
            if isinstance(decided, tuple):  # of words
                decided = ",".join(decided)
            return bool(decided == value or repr(decided) == value)  # a list is a category named by its repr

        complete = [t for t in self.trials if t.state == "complete" and t.value is not None]
        alike = [t for t in complete if all(has(key, value) for key, value in t.params.items())]
        return min(alike, key=lambda t: t.value or 0.0, default=None)

    @cached_property
    def arrays(self) -> Arrays:
        """The arrays of the evaluation: logits, labels, samples …"""
        if not self.record.has("predictions.npz"):
            raise RunError(f"run {self.record.id} has no predictions yet; replab resume {self.record.id} finishes it")
        return Arrays(self.record.checked("predictions.npz"), f"run {self.record.id}: predictions.npz")

    @cached_property
    def answers(self) -> Answers | None:
        """What a classifier answered for each test image; None for a run that names no classes."""
        return read_answers(self.arrays, f"run {self.record.id}: predictions.npz")

    @cached_property
    def examples(self) -> Examples | None:
        """Test images behind the answers; None in runs of earlier versions."""
        return examples.read(self.record, int(self.input["test_images"]))

    @cached_property
    def explanations(self) -> list[Explanation]:
        return explanations.read(self.record)

    @cached_property
    def filters(self) -> np.ndarray | None:
        """The first convolution's kernels, (N, C, k, k)."""
        if not self.record.has("filters.npy"):
            return None
        try:
            path = self.record.checked("filters.npy")
            with path.open("rb") as file:
                shape, _, dtype = header(file)
            if int(np.prod(shape, dtype=object)) * dtype.itemsize > path.stat().st_size:
                raise ValueError(f"it says {shape} of {dtype}")
            return np.asarray(np.load(path, allow_pickle=False))
        except RunError:
            raise
        except Exception as error:  # NumPy reads the header as Python, and raises its errors
            raise RunError(f"run {self.record.id}: filters.npy is corrupt ({error})") from None

    @property
    def classes(self) -> list[str]:
        """For people: names from elsewhere without what a terminal or a page would obey."""
        return [visible(name) for name in self.input["classes"]]

    @property
    def task(self) -> str:
        return str(self.input.get("task", "classify"))

    @property
    def title(self) -> str:
        return f"{self.chosen.model} on {self.input['data']}"

    def _json(self, name: str) -> dict[str, Any]:
        """Of a file that every finished run has."""
        if not self.record.has(name):
            raise RunError(
                f"run {self.record.id}: {name} is missing; replab verify {self.record.id} says what can be done"
            )
        return dict(self.record.read_json(name, {}))
