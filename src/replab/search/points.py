"""The trainings of a transfer as jobs of an engine: each at one width and rate, standard or muP."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from replab.backends.backend import threads
from replab.models.adapt import mup
from replab.records.events import Events
from replab.search import work
from replab.settings.recipe import Recipe
from replab.training.loop import Diverged

WAYS = ("standard", "muP")


@dataclass(frozen=True)
class Point:
    way: str
    width: int
    lr: float
    loss: float | None  # best validation loss; None where training diverged

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Job:
    number: int
    way: str
    width: int
    lr: float

    @property
    def label(self) -> str:
        return f"{self.way}, width {self.width}, rate {self.lr:.3g}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def in_way(recipe: Recipe, way: str, width: int, widths: Sequence[int], **more: Any) -> Recipe:
    """The recipe at a width, standard or muP with the smallest width as its base."""
    params = mup.at_width(recipe.model, recipe.params, width)
    return recipe.replace(params=params, mup=way == "muP", base_width=min(widths), **more)


class Points:
    """On one split of the training images, on as many threads wherever they run."""

    def __init__(self, shared: work.Work, widths: Sequence[int], on_threads: int):
        self.shared, self.widths, self.threads = shared, list(widths), on_threads

    @property
    def device(self) -> str:
        return self.shared.device

    def describe(self, folder: Path) -> dict[str, Any]:
        own = {"made_by": "replab.search.points:received", "widths": self.widths, "threads": self.threads}
        return {**self.shared.describe(folder), **own}

    def do(self, job: Mapping[str, Any], events: Events) -> dict[str, Any]:
        recipe = self.shared.learner.recipe
        one = in_way(recipe, job["way"], job["width"], self.widths, lr=job["lr"])
        losses, events = [], events.inside(trial=job["number"])
        try:
            with threads(self.shared.learner.backend, self.threads):
                for row in self.shared.rows(one, events):
                    losses.append(row["val_loss"])
                    events.tell("epoch", epoch=len(losses), total=one.epochs, row=row)
        except Diverged:
            pass
        loss = min((value for value in losses if math.isfinite(value)), default=None)
        return Point(job["way"], job["width"], job["lr"], loss).to_dict()

    def result(self, values: dict[str, Any]) -> Point:
        return Point(**values)


def received(sent: Mapping[str, Any]) -> Points:
    return Points(work.received(sent), sent["widths"], sent["threads"])
