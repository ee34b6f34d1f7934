"""The rounds of a search by successive halving, told from its trials. Needs no Optuna: reports read them too."""

from __future__ import annotations

from collections.abc import Sequence

from replab.records.trial import Trial
from replab.settings.length import rungs
from replab.settings.recipe import Recipe


def leaders(trials: Sequence[Trial], count: int) -> list[Trial]:
    """The complete trials of least value, best first; fewer where others failed."""
    complete = [trial for trial in trials if trial.state == "complete"]
    return sorted(complete, key=lambda trial: (trial.value or 0.0, trial.number))[:count]


def rounds(recipe: Recipe, trials: Sequence[Trial]) -> list[list[Trial]]:
    """The trials of each round that has begun; those that failed leave fewer for the next."""
    found, first = list[list[Trial]](), 0
    for rung in rungs(recipe):
        count = len(leaders(found[-1], rung.trials)) if found else rung.trials
        found.append(list(trials[first : first + count]))
        first += count
    return [each for each in found if each]


def winner(recipe: Recipe, trials: Sequence[Trial]) -> list[Trial]:
    """The complete trials of the last round that has any, best first."""
    complete = [leaders(each, len(each)) for each in rounds(recipe, trials)]
    return next((each for each in reversed(complete) if each), [])
