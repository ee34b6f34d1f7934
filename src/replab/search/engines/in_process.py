"""One trial after another, in this process"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

from replab.backends.backend import threads
from replab.records.events import Events
from replab.search.engines.base import Done, Job, engine
from replab.search.one_trial import RunTrial, one_trial
from replab.search.work import Work
from replab.settings.recipe import Recipe
from replab.training.loop import Row


@engine
def in_process(work: Work, count: int = 1, address: str | None = None) -> InProcess:
    def rows(recipe: Recipe, events: Events) -> Iterator[Row]:
        with threads(work.learner.backend, work.threads):
            yield from work.rows(recipe, events)

    return InProcess(work.learner.recipe, rows)


class InProcess:
    def __init__(self, recipe: Recipe, run_trial: RunTrial):
        self.recipe, self.run_trial = recipe, run_trial

    def run(self, jobs: Sequence[Job], events: Events) -> Iterator[Done]:
        for job in jobs:
            started = perf_counter()
            trial = one_trial(self.recipe, self.run_trial, job, events.inside(trial=job.number))
            yield Done(trial, perf_counter() - started, "this process")

    def close(self) -> None:
        pass
