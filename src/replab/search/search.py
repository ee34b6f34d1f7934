"""Search: Optuna asks, fit() trains, Optuna is told. It sees a split of the training images and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from statistics import median
from time import perf_counter
from typing import Any

import optuna

from replab.data.images import Images
from replab.errors import ModelError, RecipeError, ReplabError, UnknownName
from replab.records.trial import Trial
from replab.settings.recipe import Recipe, Search, derive_seed
from replab.training.loop import Diverged, Row

optuna.logging.set_verbosity(optuna.logging.WARNING)

RECIPE_KEYS = (
    "lr",
    "weight_decay",
    "batch_size",
    "momentum",
    "label_smoothing",
    "neighbours",
)  # besides a model's own parameters


def split_for_search(train: Images, search: Search, seed: int) -> tuple[Images, Images]:
    """(train, validation): a fraction of the training images, more where validation would be too small."""
    n = min(len(train), math.ceil(max(search.fraction * len(train), search.min_validation / search.validation)))
    subset = train.take(n, derive_seed(seed, 2))
    validation = max(round(search.validation * len(subset)), min(search.min_validation, len(subset) // 3))
    return subset.split(validation / len(subset), derive_seed(seed, 3))


def distributions(recipe: Recipe) -> dict[str, optuna.distributions.BaseDistribution]:
    """What is searched: the learning rate unless it is given, and what `search.space` declares."""
    space: dict[str, optuna.distributions.BaseDistribution] = {}
    if recipe.lr is None and "lr" not in recipe.search.space:
        space["lr"] = optuna.distributions.FloatDistribution(*recipe.search.lr, log=True)
    for key, choices in recipe.search.space.items():
        space[key] = _distribution(key, choices)
    return space


def _distribution(key: str, choices: Any) -> optuna.distributions.BaseDistribution:
    """[low, high] of two numbers is a range (logarithmic when wide and positive), any other list is a choice."""
    if not isinstance(choices, (list, tuple)) or not choices:
        raise RecipeError(f"search.space.{key} must be [low, high] or a list of choices, got {choices!r}")
    numbers = all(isinstance(c, (int, float)) and not isinstance(c, bool) for c in choices)
    if numbers and len(choices) == 2:
        low, high = choices
        if low >= high:
            raise RecipeError(f"search.space.{key} = [low, high] needs low < high, got {list(choices)}")
        log = low > 0 and high / low >= 10
        whole = all(isinstance(c, int) for c in choices)
        kind = optuna.distributions.IntDistribution if whole else optuna.distributions.FloatDistribution
        return kind(low, high, log=log)
    return optuna.distributions.CategoricalDistribution(
        [repr(c) if isinstance(c, (list, dict)) else c for c in choices]
    )


def apply(recipe: Recipe, params: Mapping[str, Any]) -> Recipe:
    """The recipe with a trial's parameters in their places: training's own keys, else the model's."""
    own = {k: v for k, v in params.items() if k in RECIPE_KEYS}
    model = {k: _literal(v, recipe.search.space.get(k)) for k, v in params.items() if k not in RECIPE_KEYS}
    return recipe.replace(**own, params={**recipe.params, **model})


def _literal(value: Any, choices: Any) -> Any:
    """Optuna's categories are plain values: a list was named by its repr."""
    return next((c for c in choices or () if isinstance(c, (list, dict)) and repr(c) == value), value)


def startup_trials(trials: int) -> int:
    """Random trials before TPE models: enough to model from, and no more (20 of 20 would be a random search)."""
    return max(3, min(10, trials // 4))


def wanted_trials(recipe: Recipe) -> int:
    """With nothing to choose but the epochs, one trial tells them."""
    return recipe.search.trials if distributions(recipe) else 1


def search(
    recipe: Recipe,
    run_trial: Callable[[Recipe], Iterator[Row]],
    finished: list[Trial],
    *,
    time_left: Callable[[Trial | None], bool] = lambda last: True,
) -> Iterator[tuple[Trial, float]]:
    """Yield each new trial and its seconds as it ends. `finished` trials of an interrupted search are taken as told.

    Each ask is seeded by (seed, trials finished), because no storage keeps a sampler's state: an interrupted
    search asks the same again. `run_trial` yields rows with a `val_<objective>`.
    """
    space = distributions(recipe)
    told = list(finished)
    last: Trial | None = None
    while len(told) < wanted_trials(recipe) and time_left(last):
        study = _study(recipe, space, told)
        asked = study.ask(space)
        started = perf_counter()
        last = _trial(recipe, run_trial, dict(asked.params), told)
        told.append(last)
        yield last, perf_counter() - started


def _study(recipe: Recipe, space: Mapping[str, Any], told: list[Trial]) -> optuna.Study:
    """An in-memory study that has been told every finished trial, its sampler seeded by how many there are."""
    sampler = optuna.samplers.TPESampler(
        n_startup_trials=startup_trials(recipe.search.trials),
        multivariate=len(space) > 1,
        constant_liar=False,  # trials run one after another
        seed=derive_seed(recipe.seed, 4, len(told)) % 2**32,
    )
    study = optuna.create_study(sampler=sampler)
    states = {
        "complete": optuna.trial.TrialState.COMPLETE,
        "pruned": optuna.trial.TrialState.PRUNED,
        "failed": optuna.trial.TrialState.FAIL,
    }
    for trial in told:
        study.add_trial(
            optuna.trial.create_trial(
                state=states[trial.state],
                params=trial.params,
                distributions=dict(space),
                value=trial.value if trial.state == "complete" else None,
                intermediate_values=dict(enumerate(trial.losses, 1)),  # by which TPE ranks the pruned ones
            )
        )
    return study


def fair_epochs(max_epochs: int) -> int:
    """What a trial gets before it can be pruned."""
    return max(5, max_epochs // 10)


def behind_median(losses: list[float], others: Iterable[list[float]]) -> bool:
    """Whether a trial's best loss is above the median best of the others that got as far, at the same epoch."""
    bests = [min(other[: len(losses)]) for other in others if len(other) >= len(losses)]
    return bool(bests) and min(losses) > median(bests)


def on_course(losses: list[float], least: float, epochs: int) -> bool:
    """Whether a trial, falling on like a + b / epoch as curves do, reaches the least loss by the last epoch.

    The pace at epoch t is then b / t², and b / t - b / epochs is still to come.
    """
    t = len(losses)
    pace = (losses[-4] - losses[-1]) / 3 if t > 3 else math.inf
    return losses[-1] - pace * t * (1 - t / epochs) <= least


def _trial(
    recipe: Recipe, run_trial: Callable[[Recipe], Iterator[Row]], params: dict[str, Any], told: list[Trial]
) -> Trial:
    """Train with these parameters until patience, pruning, divergence or the last epoch ends it."""
    epochs = recipe.epochs or recipe.search.max_epochs
    constant = recipe.schedule == "constant"  # a schedule runs its length: its loss falls when the rate does
    patience = recipe.search.patience if constant else math.inf
    prunes_from = fair_epochs(epochs) if recipe.search.prune and constant else math.inf
    least, best_rate = min(((_value(t), t.params.get("lr", 0.0)) for t in told), default=(math.inf, 0.0))
    small = params.get("lr", math.inf) < best_rate  # than the best trial's: such start slowly
    losses: list[float] = []
    best_epoch, error = 0, 0.0
    state, reason = "complete", ""
    rows = run_trial(apply(recipe, params).replace(epochs=epochs))
    try:
        for row in rows:
            loss = row["val_loss"]
            if not math.isfinite(loss):
                raise Diverged(f"validation loss is {loss} in epoch {len(losses) + 1}")
            better = loss < min(losses, default=math.inf)
            losses.append(loss)
            if better:
                best_epoch, error = len(losses), row.get("val_loss_se", 0.0)
            if len(losses) - best_epoch >= patience:
                break
            if (
                len(losses) >= prunes_from
                and behind_median(losses, (t.losses for t in told))
                and not (small and on_course(losses, least, epochs))
            ):
                state, reason = "pruned", f"behind the median of the others at epoch {len(losses)}"
                break
    except (Diverged, ModelError) as fault:  # a model that cannot be built with these parameters fails its trial alone
        state, reason = "failed", str(fault)
    finally:
        rows.close()  # type: ignore[attr-defined]
    value = min(losses) if losses and state != "failed" else None
    return Trial(len(told), params, state, value, best_epoch, error, losses, reason)


def best(trials: list[Trial], choose: str = "best") -> Trial:
    """The complete trial of least value; a pruned one had no chance to be measured to its end.

    `one-standard-error`: the lower quartile of the rates that are as good but for noise, or the best one's own if that
    is smaller. The least of many noisy minima favours large rates, whose curves jump, and small rates end better on
    the whole set; but the very smallest take many epochs for nothing.
    """
    complete = [t for t in trials if t.state == "complete" and t.value is not None]
    if not complete:
        reasons = "; ".join(sorted({t.reason for t in trials})) or "no trial was run"
        raise ReplabError(f"no trial of {len(trials)} finished ({reasons}); give --lr, or a lower range in search.lr")
    least = min(complete, key=_value)
    if choose == "best" or "lr" not in least.params:
        return least
    as_good = sorted((t for t in complete if _value(t) <= _value(least) + least.error), key=lambda t: t.params["lr"])
    return min(as_good[(len(as_good) - 1) // 4], least, key=lambda t: t.params["lr"])


def _value(trial: Trial) -> float:
    return math.inf if trial.value is None else trial.value


def check_space(recipe: Recipe, model_params: set[str]) -> None:
    """Refuse a declared search key that neither training nor the model knows."""
    for key in recipe.search.space:
        if key not in RECIPE_KEYS and key not in model_params:
            known = [*RECIPE_KEYS, *sorted(model_params)]
            raise UnknownName("search parameter", key, known, "known: " + ", ".join(known))
    distributions(recipe)
    for key, choices in recipe.search.space.items():
        for value in choices:  # the ends of a range too: what a recipe may not have is refused before any trial
            apply(recipe, {key: value})
