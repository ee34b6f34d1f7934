"""What a recipe leaves to a search: which settings, between which bounds, and how a trial's values go back into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replab.errors import RecipeError, UnknownName
from replab.settings.length import Rung, rungs
from replab.settings.recipe import Recipe
from replab.settings.search import Search
from replab.settings.setting import settings_of

# settings a search may vary, besides a model's own parameters
RECIPE_KEYS = tuple(name for name, declared in settings_of(Recipe).items() if declared.searchable)


@dataclass(frozen=True)
class Range:
    low: float
    high: float
    log: bool
    whole: bool = False  # whole numbers only


@dataclass(frozen=True)
class Choice:
    values: tuple[Any, ...]


def searched(recipe: Recipe) -> dict[str, Range | Choice]:
    """The learning rate unless it is given, and what `search.space` declares."""
    found: dict[str, Range | Choice] = {}
    if recipe.lr is None and "lr" not in recipe.search.space:
        found["lr"] = Range(*recipe.search.lr, log=True)
    for key, choices in recipe.search.space.items():
        found[key] = _declared(key, choices)
    return found


def _declared(key: str, choices: Any) -> Range | Choice:
    """[low, high] of two numbers is a range (logarithmic when wide and positive), any other list is a choice."""
    if not isinstance(choices, (list, tuple)) or not choices:
        raise RecipeError(f"search.space.{key} must be [low, high] or a list of choices, got {choices!r}")
    numbers = all(isinstance(c, (int, float)) and not isinstance(c, bool) for c in choices)
    if not numbers or len(choices) != 2:
        return Choice(tuple(choices))
    low, high = choices
    if low >= high:
        raise RecipeError(f"search.space.{key} = [low, high] needs low < high, got {list(choices)}")
    return Range(low, high, log=low > 0 and high / low >= 10, whole=all(isinstance(c, int) for c in choices))


def wanted_trials(recipe: Recipe) -> int:
    return sum(rung.trials for rung in planned(recipe))


def at_once(recipe: Recipe) -> int:
    """Trials that may run side by side: all of the first round of halving, else a batch."""
    if recipe.search.method == "halving":
        return recipe.search.trials if searched(recipe) else 1
    return min(recipe.search.batch, wanted_trials(recipe))


def planned(recipe: Recipe) -> list[Rung]:
    """(trials, epochs of each at most), round by round; TPE has one round, and a range test none."""
    if recipe.search.method == "halving":
        return [Rung(rung.trials, stretched(recipe, rung.epochs)) for rung in rungs(recipe)]
    if recipe.search.method == "range-test":
        return []
    # with nothing to choose but the epochs, one trial tells them
    most = stretched(recipe, recipe.epochs) if recipe.epochs else recipe.search.max_epochs
    return [Rung(recipe.search.trials if searched(recipe) else 1, most)]


def stretched(recipe: Recipe, epochs: int, at_10k: float | None = None) -> int:
    """So many epochs of a recipe, in a trial that has another length by `epochs_at_10k`; left out: the longest."""
    lengths = recipe.search.space.get("epochs_at_10k")
    if not lengths or recipe.epochs_at_10k is None:
        return epochs
    return max(1, round(epochs * (at_10k or max(lengths)) / recipe.epochs_at_10k))


def wants_range_test(recipe: Recipe) -> bool:
    """Whether a range test says which rate to take, or around which to try: not where a rate or a range was given."""
    asked, method = recipe.lr is None and "lr" not in recipe.search.space, recipe.search.method
    return asked and (method == "range-test" or (method == "halving" and recipe.search.lr == Search().lr))


def apply(recipe: Recipe, params: Mapping[str, Any]) -> Recipe:
    """The recipe with a trial's values in their places: training's own settings, else the model's parameters."""
    own = {k: v for k, v in params.items() if k in RECIPE_KEYS}
    model = {k: _named(v, recipe.search.space.get(k)) for k, v in params.items() if k not in RECIPE_KEYS}
    if "epochs_at_10k" in own and recipe.epochs is not None:
        own["epochs"] = stretched(recipe, recipe.epochs, own["epochs_at_10k"])
    return recipe.replace(**own, params={**recipe.params, **model})


def category(value: Any) -> Any:
    """A choice as a trial keeps it: plain values as they are, a list or table by its repr."""
    return repr(value) if isinstance(value, (list, dict)) else value


def _named(value: Any, choices: Any) -> Any:
    """The choice that a trial's value stands for."""
    return next((c for c in choices or () if isinstance(c, (list, dict)) and repr(c) == value), value)


def check_space(recipe: Recipe, model_params: set[str]) -> None:
    """Refuse a declared search key that neither training nor the model knows, and values a recipe may not have."""
    for key in recipe.search.space:
        if key not in RECIPE_KEYS and key not in model_params:
            known = [*RECIPE_KEYS, *sorted(model_params)]
            raise UnknownName("search parameter", key, known, "known: " + ", ".join(known))
    if "epochs_at_10k" in recipe.search.space and recipe.epochs_at_10k is None:
        raise RecipeError(
            "search.space.epochs_at_10k needs epochs by that rule, got none; give --epochs-at-10k, without --epochs"
        )
    searched(recipe)
    for key, choices in recipe.search.space.items():
        for value in choices:  # the ends of a range too
            apply(recipe, {key: value})
