"""What to try next: Optuna's TPE, asked anew for each batch from what has been finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import optuna

from replab.records.trial import Trial
from replab.settings.recipe import Recipe, derive_seed
from replab.settings.searched import Choice, Range, category, searched, wanted_trials

optuna.logging.set_verbosity(optuna.logging.WARNING)

Params = dict[str, Any]
Space = Mapping[str, optuna.distributions.BaseDistribution]

STATES = {
    "complete": optuna.trial.TrialState.COMPLETE,
    "pruned": optuna.trial.TrialState.PRUNED,
    "failed": optuna.trial.TrialState.FAIL,
}


def ask(recipe: Recipe, finished: Sequence[Trial]) -> list[Params]:
    """The parameters of the next batch.

    Each ask is seeded by (seed, trials finished) and told every finished trial: no sampler's state is kept, so an
    interrupted search asks the same again.
    """
    space = {key: distribution(what) for key, what in searched(recipe).items()}
    if recipe.search.batch == 1:
        return [dict(_study(recipe, space, finished).ask(dict(space)).params)]
    return _batch(recipe, space, finished)


def _batch(recipe: Recipe, space: Space, finished: Sequence[Trial]) -> list[Params]:
    """Quasi-random points at the start, then TPE's, which takes the trials of its own batch for bad ones."""
    study, first = _study(recipe, space, finished), len(finished)
    size = min(recipe.search.batch, wanted_trials(recipe) - first)
    for params in quasi_random(recipe, first, min(first + size, startup_trials(recipe.search.trials))):
        study.enqueue_trial(params)
    return [dict(study.ask(dict(space)).params) for _ in range(size)]


def quasi_random(recipe: Recipe, first: int, end: int) -> list[Params]:
    """The points of trials first to end, of one scrambled Sobol sequence over the space."""
    from scipy.stats import qmc

    space = searched(recipe)
    if first >= end or not space:
        return []
    sequence = qmc.Sobol(len(space), rng=derive_seed(recipe.seed, 6))
    points = sequence.random_base2((end - 1).bit_length())[first:end]  # a power of two, as Sobol's balance wants
    return [{key: _at(what, float(u)) for (key, what), u in zip(space.items(), point)} for point in points]


def _at(what: Range | Choice, u: float) -> Any:
    """The value at u of [0, 1)."""
    if isinstance(what, Choice):
        return category(what.values[int(u * len(what.values))])
    low, high = (what.low, what.high + 1) if what.whole else (what.low, what.high)
    value = low * (high / low) ** u if what.log else low + (high - low) * u
    return min(int(value), int(what.high)) if what.whole else min(max(value, what.low), what.high)


def distribution(what: Range | Choice) -> optuna.distributions.BaseDistribution:
    if isinstance(what, Range):
        kind = optuna.distributions.IntDistribution if what.whole else optuna.distributions.FloatDistribution
        return kind(what.low, what.high, log=what.log)
    return optuna.distributions.CategoricalDistribution([category(value) for value in what.values])


def startup_trials(trials: int) -> int:
    """Random trials before TPE models: enough to model from, and no more (20 of 20 would be a random search)."""
    return max(3, min(10, trials // 4))


def _study(recipe: Recipe, space: Space, finished: Sequence[Trial]) -> optuna.Study:
    """An in-memory study that has been told every finished trial, its sampler seeded by how many there are."""
    batch = recipe.search.batch
    sampler = optuna.samplers.TPESampler(
        n_startup_trials=startup_trials(recipe.search.trials) if batch == 1 else 1,  # a batch's start is quasi-random
        multivariate=len(space) > 1,
        constant_liar=batch > 1,
        seed=derive_seed(recipe.seed, 4, len(finished) // batch) % 2**32,
    )
    study = optuna.create_study(sampler=sampler)
    for trial in finished:
        study.add_trial(
            optuna.trial.create_trial(
                state=STATES[trial.state],
                params=trial.params,
                distributions=dict(space),
                value=trial.value if trial.state == "complete" else None,
                intermediate_values=dict(enumerate(trial.losses, 1)),  # by which TPE ranks the pruned ones
            )
        )
    return study
