"""How long a training and the trials before it are, where a protocol says it by rule."""

from __future__ import annotations

from typing import NamedTuple

from replab.settings.recipe import Recipe

UNSHIFTED = 0.6  # of the usual epochs, for a model that is not shifted where the rule would have shifted the images


class Rung(NamedTuple):
    """A round of successive halving."""

    trials: int  # at most: trials that fail leave fewer to go on
    epochs: int  # of each


def epochs_for(images: int, at_10k: float) -> int:
    """By the cube root: an eighth of the images gets twice the epochs, and so a quarter of the steps."""
    return max(1, round(at_10k * float((10_000 / images) ** (1 / 3))))


def rungs(recipe: Recipe) -> list[Rung]:
    """The rounds of a search by halving: each has half the trials of the one before, and twice the epochs."""
    search = recipe.search
    assert recipe.epochs is not None
    count = min(search.rungs, max(1, search.trials.bit_length()))
    last = max(1, round(search.longest * recipe.epochs))
    planned = [
        Rung(-(-search.trials // 2**place), max(1, round(last / 2 ** (count - 1 - place)))) for place in range(count)
    ]
    return [rung for place, rung in enumerate(planned) if place == 0 or rung.epochs > planned[place - 1].epochs]
