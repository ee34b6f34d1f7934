"""The search: ask for a batch, run it, remember, until there are enough trials.

It sees a split of the training images alone. Where trials run and which ends first is up to the engine; what is asked
and told, and in which order, is not.
"""

from __future__ import annotations

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

Asked = Mapping[str, Any]  # `first`: the number of the batch's first trial; `params`: of each trial


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

    `remember` is told what was asked for a batch before it begins, and `asked` is what it was told last: the batch of
    an interrupted search is finished, not asked for again.
    """
    told, total, events = list(finished), wanted_trials(recipe), events or Events()
    allowance, size = allowance or Allowance(), recipe.search.batch
    suggester, standings = Suggester(recipe), Standings()

    def batch() -> Sequence[Job]:
        nonlocal asked
        first = len(told) - len(told) % size
        earlier = told[:first]
        allowed, most = allowance.next_batch(earlier, min(size, total - first))
        if len(told) >= min(total, first + allowed):
            return ()
        if asked is None or asked["first"] != first:
            asked = {"first": first, "params": suggester.suggest(earlier)}
            if size > 1:
                remember(asked)
        for trial in earlier[standings.count :]:
            standings.add(trial)
        bars = standings.bars()
        jobs = [Job(first + place, params, bars, most) for place, params in enumerate(asked["params"])]
        jobs = jobs[len(told) - first : allowed]
        return longest_first(jobs) if engine.count > 1 else jobs

    def round_of_halving() -> Sequence[Job]:
        following = next_round(recipe, told, centre)
        if following is None:
            return ()
        first, epochs, each = following
        jobs = [
            Job(first + place, params, epochs=stretched(recipe, epochs, params.get("epochs_at_10k")))
            for place, params in enumerate(each)
        ]
        return jobs[len(told) - first :]

    following = round_of_halving if recipe.search.method == "halving" else batch
    with events.span("search", total, len(told)):
        while jobs := following():
            for done in in_order(engine.run(jobs, events), len(told)):
                told.append(done.result)
                yield done


def longest_first(jobs: Sequence[Job]) -> Sequence[Job]:
    """A small rate learns slowly, and its trial is likely to be long: begun last, it would leave other workers idle."""
    return sorted(jobs, key=lambda job: job.params.get("lr", 0.0))


def in_order(results: Iterable[Done], first: int) -> Iterator[Done]:
    """By the jobs' numbers, from the first, as soon as all before it are there."""
    waiting: dict[int, Done] = {}
    for done in results:
        waiting[done.number] = done
        while first in waiting:
            yield waiting.pop(first)
            first += 1
