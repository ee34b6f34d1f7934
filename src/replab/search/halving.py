"""Successive halving: short trials, each a whole schedule, of which the better half goes on to one twice as long.

Rates are compared by the loss at the end of their schedule, so that a rate is judged the way it will be used: under a
schedule the loss falls when the rate does. All trials of a round are as long, and the ones before choose no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from replab.records.trial import Trial
from replab.search.ask import Params, quasi_random
from replab.search.rounds import leaders
from replab.settings.length import rungs
from replab.settings.recipe import Recipe
from replab.settings.searched import searched

SPAN = 6.0  # rates from a sixth to six times what the range test says


class Round(NamedTuple):
    first: int  # number of its first trial
    epochs: int
    params: list[Params]


def next_round(recipe: Recipe, finished: Sequence[Trial], centre: float | None) -> Round | None:
    """The round that is not finished yet; None after the last one."""
    first, before = 0, list[Trial]()
    for place, rung in enumerate(rungs(recipe)):
        going_on = [trial.params for trial in leaders(before, rung.trials)] if place else candidates(recipe, centre)
        before = list(finished[first : first + len(going_on)])
        if len(before) < len(going_on):
            return Round(first, rung.epochs, going_on)
        first += len(going_on)
    return None


def candidates(recipe: Recipe, centre: float | None) -> list[Params]:
    """Of the first round: rates evenly spaced on a logarithmic scale, or quasi-random points of a larger space."""
    space, count = searched(around(recipe, centre)), rungs(recipe)[0].trials
    if list(space) != ["lr"]:
        return quasi_random(around(recipe, centre), 0, count)
    low, high = around(recipe, centre).search.lr
    return [{"lr": low * (high / low) ** (place / max(1, count - 1))} for place in range(count)]


def around(recipe: Recipe, centre: float | None) -> Recipe:
    """With the range of rates around the centre, where there is one."""
    return recipe if centre is None else recipe.replace(search={"lr": (centre / SPAN, centre * SPAN)})
