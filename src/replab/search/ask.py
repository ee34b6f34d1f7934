"""What to try next: Optuna's TPE, asked anew each time from what has been finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import optuna

from replab.records.trial import Trial
from replab.settings.recipe import Recipe, derive_seed
from replab.settings.searched import Choice, Range, category, searched

optuna.logging.set_verbosity(optuna.logging.WARNING)

STATES = {
    "complete": optuna.trial.TrialState.COMPLETE,
    "pruned": optuna.trial.TrialState.PRUNED,
    "failed": optuna.trial.TrialState.FAIL,
}


def ask(recipe: Recipe, finished: Sequence[Trial]) -> dict[str, Any]:
    """The next trial's parameters.

    Each ask is seeded by (seed, trials finished) and told every finished trial: no sampler's state is kept, so an
    interrupted search asks the same again.
    """
    space = {key: distribution(what) for key, what in searched(recipe).items()}
    return dict(_study(recipe, space, finished).ask(space).params)


def distribution(what: Range | Choice) -> optuna.distributions.BaseDistribution:
    if isinstance(what, Range):
        kind = optuna.distributions.IntDistribution if what.whole else optuna.distributions.FloatDistribution
        return kind(what.low, what.high, log=what.log)
    return optuna.distributions.CategoricalDistribution([category(value) for value in what.values])


def startup_trials(trials: int) -> int:
    """Random trials before TPE models: enough to model from, and no more (20 of 20 would be a random search)."""
    return max(3, min(10, trials // 4))


def _study(
    recipe: Recipe, space: dict[str, optuna.distributions.BaseDistribution], finished: Sequence[Trial]
) -> optuna.Study:
    """An in-memory study that has been told every finished trial, its sampler seeded by how many there are."""
    sampler = optuna.samplers.TPESampler(
        n_startup_trials=startup_trials(recipe.search.trials),
        multivariate=len(space) > 1,
        constant_liar=False,  # trials run one after another
        seed=derive_seed(recipe.seed, 4, len(finished)) % 2**32,
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
