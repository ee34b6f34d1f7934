"""The search: ask for trials ahead, run them, remember, until there are enough.

It sees a split of the training images alone. Where trials run and which ends first is up to the engine; what is asked
and told, and in which order, is not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from replab.records.events import Events
from replab.records.trial import Trial
from replab.search.allowance import Allowance
from replab.search.ask import Suggester
from replab.search.engines.base import Done, Engine, Job
from replab.search.halving import next_round
from replab.search.stopping import Standings
from replab.settings.recipe import Recipe
from replab.settings.searched import stretched, wanted_trials

Asked = Mapping[str, Any]  # the trials that are open: `first`, the number of the first; `params` of each


def search(
    recipe: Recipe,
    engine: Engine,
    finished: Sequence[Trial],
    *,
    asked: Asked | None = None,
    remember: Callable[[Asked], None] = lambda asked: None,
    allowance: Allowance | None = None,
    events: Events | None = None,
    centre: float | None = None,  # of the rates to try: what a range test said
) -> Iterator[Done]:
    """Yield the new trials in the order of their numbers. `finished` are those of an interrupted search.

    `remember` is told what is asked for before it begins, and `asked` is what it was told last: the open trials of an
    interrupted search are finished, not asked for again.
    """
    events = events or Events()
    if recipe.search.method == "halving":
        new = by_halving(recipe, engine, list(finished), events, centre)
    else:
        new = ahead(recipe, engine, finished, asked, remember, allowance or Allowance(), events)
    with events.span("search", wanted_trials(recipe), len(finished)):
        yield from new


def by_halving(
    recipe: Recipe, engine: Engine, told: list[Trial], events: Events, centre: float | None
) -> Iterator[Done]:
    """Round after round: which go on is known when all of a round have ended."""
    while following := next_round(recipe, told, centre):
        first, epochs, each = following
        jobs = [
            Job(first + place, params, epochs=stretched(recipe, epochs, params.get("epochs_at_10k")))
            for place, params in enumerate(each)
        ]
        for done in in_order(engine.run(deque(jobs[len(told) - first :]), events), len(told)):
            told.append(done.result)
            yield done


def ahead(
    recipe: Recipe,
    engine: Engine,
    finished: Sequence[Trial],
    asked: Asked | None,
    remember: Callable[[Asked], None],
    allowance: Allowance,
    events: Events,
) -> Iterator[Done]:
    """Trials asked for while up to `batch - 1` before them are still open, so that workers do not wait for the longest.

    A trial knows, and is compared with, those told when it is asked for. They are told in the order of their numbers,
    one at a time, so what it knows does not depend on which ends first, nor on how many run side by side.
    """
    total, size = wanted_trials(recipe), recipe.search.batch
    suggester, standings = Suggester(recipe), Standings()
    told, open_ = list[Trial](), deque[Job]()
    known = {trial.number: trial.params for trial in finished}
    if asked is not None:
        known = {asked["first"] + place: params for place, params in enumerate(asked["params"])} | known

    def ask() -> list[Job]:
        """As many as there is room and allowance for."""
        new = []
        while len(open_) < size and (number := len(told) + len(open_)) < total:
            most = allowance.next_trial(told, [job.most or 0 for job in open_], min(size - len(open_), total - number))
            if most == 0:
                break
            if number not in known:
                known[number] = suggester.suggest(told, [job.params for job in open_])
            new.append(Job(number, known[number], standings.bars(), most))
            open_.append(new[-1])
        if new and size > 1 and len(told) >= len(finished):
            remember({"first": open_[0].number, "params": [job.params for job in open_]})
        return new

    def tell(trial: Trial) -> None:
        open_.popleft()
        told.append(trial)
        standings.add(trial)

    for trial in finished:  # what is open now was asked for in between
        ask()
        tell(trial)
    ask()
    jobs = deque(open_)
    for done in in_order(engine.run(jobs, events), len(told)):
        yield done
        tell(done.result)
        jobs.extend(ask())


def in_order(results: Iterable[Done], first: int) -> Iterator[Done]:
    """By the jobs' numbers, from the first, as soon as all before it are there."""
    waiting: dict[int, Done] = {}
    for done in results:
        waiting[done.number] = done
        while first in waiting:
            yield waiting.pop(first)
            first += 1
