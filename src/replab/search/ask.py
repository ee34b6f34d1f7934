"""What to try next: Optuna's TPE, asked for each trial from what has been told by then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import optuna

from replab.records.trial import Trial
from replab.settings.recipe import Recipe, derive_seed
from replab.settings.searched import Choice, Range, category, searched

optuna.logging.set_verbosity(optuna.logging.WARNING)

Params = dict[str, Any]
Space = Mapping[str, optuna.distributions.BaseDistribution]

STATES = {
    "complete": optuna.trial.TrialState.COMPLETE,
    "pruned": optuna.trial.TrialState.PRUNED,
    "failed": optuna.trial.TrialState.FAIL,
}


def ask(recipe: Recipe, told: Sequence[Trial], open_: Sequence[Params] = ()) -> Params:
    """The parameters of the next trial."""
    return Suggester(recipe).suggest(told, open_)


class Suggester:
    """Asks for trial after trial.

    Each ask is by a sampler of its own, seeded by (seed, number of the trial), over a study that was told every
    finished trial: an interrupted search asks the same again. The study is kept, because telling one all trials anew
    for each ask is quadratic in their number.
    """

    def __init__(self, recipe: Recipe):
        self.recipe = recipe
        self.space: Space = {key: distribution(what) for key, what in searched(recipe).items()}
        self.study = optuna.create_study()
        self.told = 0
        self.open: list[optuna.Trial] = []  # asked for, and not yet told

    def suggest(self, told: Sequence[Trial], open_: Sequence[Params]) -> Params:
        """A quasi-random point at the start, then TPE's, which takes the trials that are still open for bad ones.

        `open_`: the parameters of trials after those told. With a batch of one TPE is asked from the start.
        """
        self._tell(told, open_)
        number = len(told) + len(open_)
        self.study.sampler = self._sampler(number)
        if self.recipe.search.batch > 1 and number < startup_trials(self.recipe.search.trials):
            for params in quasi_random(self.recipe, number, number + 1):
                self.study.enqueue_trial(params)
        self.open.append(self.study.ask(dict(self.space)))
        return dict(self.open[-1].params)

    def _sampler(self, number: int) -> optuna.samplers.TPESampler:
        search = self.recipe.search
        return optuna.samplers.TPESampler(
            n_startup_trials=startup_trials(search.trials) if search.batch == 1 else 1,  # else quasi-random
            multivariate=len(self.space) > 1,
            constant_liar=search.batch > 1,
            seed=derive_seed(self.recipe.seed, 4, number) % 2**32,
        )

    def _tell(self, told: Sequence[Trial], open_: Sequence[Params]) -> None:
        """What is new. Where it is not what was asked for, as after an interruption, a study is told all of it."""
        new = told[self.told :]
        if [trial.params for trial in self.open] == [*(trial.params for trial in new), *open_]:
            for asked, trial in zip(self.open, new):
                for epoch, loss in enumerate(trial.losses, 1):
                    asked.report(loss, epoch)  # by which TPE ranks the pruned ones
                self.study.tell(asked, trial.value if trial.state == "complete" else None, STATES[trial.state])
            del self.open[: len(new)]
        else:
            self.study, self.open = optuna.create_study(), []
            self.study.add_trials(self._frozen(trial) for trial in told)
            for params in open_:
                self.study.enqueue_trial(params)
                self.open.append(self.study.ask(dict(self.space)))
        self.told = len(told)

    def _frozen(self, trial: Trial) -> optuna.trial.FrozenTrial:
        return optuna.trial.create_trial(
            state=STATES[trial.state],
            params=trial.params,
            distributions=dict(self.space),
            value=trial.value if trial.state == "complete" else None,
            intermediate_values=dict(enumerate(trial.losses, 1)),
        )


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
