"""What a budget buys, decided before the start from the measured cost: epochs, search and augmentation.

For recipes whose length is a rule (`epochs_at_10k`) or given beside a search of fixed rounds; where trials of TPE go
before, allowance.py decides. Nothing here looks at the clock: a run that is resumed, or has more workers, has the same
numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from replab.errors import RecipeError
from replab.settings.length import epochs_for
from replab.settings.recipe import Recipe
from replab.settings.searched import searched
from replab.settings.words import count, duration
from replab.training.cost import Cost
from replab.training.experiment import Experiment

LONGEST = 4.0  # times the epochs of the rule: beyond that, more of them buy nothing
SEARCHED = 0.5  # of those epochs: a training that would be shorter gets its rate by a range test
AUGMENTED = 0.4  # of those epochs: a training that is shorter sees each image too seldom to need other ones
SLACK = 1.1  # steps take longer than the few that were timed
EPOCH = 0.05  # seconds of each epoch that are no step's: its row and its checkpoint are written


def plan(experiment: Experiment, cost: Cost) -> tuple[Experiment, Cost, str]:
    """The experiment, with its recipe made to fit its budget; its cost; and a sentence for people."""
    recipe = experiment.recipe
    if recipe.budget is None or not planned_ahead(recipe) or not cost.in_steps:
        return experiment, cost, ""
    images, tested = len(experiment.data.train), len(experiment.data.test)
    fitted = fit(recipe, cost, images, tested, recipe.budget - cost.feature_seconds)
    experiment = replace(experiment, recipe=fitted)
    cost = cost.of(experiment)
    wanted, by_rule = length_of(recipe, images), recipe.epochs_at_10k is not None
    how = {"halving": "the rate by halving", "range-test": "the rate by a range test"}.get(fitted.search.method, "")
    parts = [
        f"{count(fitted.last_epoch or 0, 'epoch')} where {wanted} {'are usual' if by_rule else 'were asked for'}",
        how if "lr" in searched(fitted) else "",
        f"augmentation {','.join(fitted.augment) or 'none'}",
    ]
    if fitted == recipe:  # everything that was asked for fits
        return experiment, cost, ""
    return experiment, cost, f"budget {duration(recipe.budget)}: {', '.join(filter(None, parts))}"


def planned_ahead(recipe: Recipe) -> bool:
    """Whether the length is known before the search, and the search's own by its rounds."""
    return recipe.epochs_at_10k is not None or (recipe.epochs is not None and recipe.search.method != "tpe")


def length_of(recipe: Recipe, images: int) -> int:
    """Epochs without a budget."""
    if recipe.epochs_at_10k is not None and not recipe.stop_after:
        return epochs_for(images, recipe.epochs_at_10k)
    return recipe.last_epoch or 1


def fit(recipe: Recipe, cost: Cost, images: int, tested: int, seconds: float) -> Recipe:
    """The longest training that the seconds pay for, with the search before it."""
    key = "stop_after" if recipe.stop_after else "epochs"  # which says where the training ends
    by_rule, usual = recipe.epochs_at_10k is not None, length_of(recipe, images)
    most = max(1, round(LONGEST * usual)) if by_rule and key == "epochs" else usual

    def longest(**search: Any) -> Recipe | None:
        for epochs in range(most, 0, -1):
            candidate = recipe.replace(**{key: epochs}, search=search)
            if sum(cost.estimate(candidate, images, tested)) * SLACK + EPOCH * epochs <= seconds:
                return candidate
        return None

    found = longest()
    alone = "lr" in searched(recipe) and not recipe.search.space
    if alone and recipe.search.method == "halving" and (found is None or (found.last_epoch or 0) < SEARCHED * usual):
        found = longest(method="range-test") or found
    if found is None:
        least = sum(cost.estimate(recipe.replace(**{key: 1}), images, tested))
        raise RecipeError(
            f"--budget {duration(recipe.budget or 0)} is too short for one epoch, which takes about {duration(least)};"
            " give more time, or --limit for fewer images"
        )
    seldom = by_rule and (found.last_epoch or 0) < AUGMENTED * usual and recipe.augment == suited_by_rule(recipe)
    return found.replace(augment=()) if seldom else found


def suited_by_rule(recipe: Recipe) -> tuple[str, ...] | None:
    """The augmentation, where the protocol and not the user chose it."""
    return recipe.augment if Recipe.of_protocol(recipe.protocol).augment == ("auto",) else None
