"""Frozen backbones in a race: a logistic head on features of weights that are on disk.

`probe:NAME` is a model with its published weights, `probe:MODEL@WEIGHTS` one with the weights of a file or run. A
backbone sees an image once, so its cost is that of the images: a round takes as many as its seconds pay for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from time import perf_counter
from typing import Any

from replab.errors import ReplabError
from replab.records.events import Events
from replab.settings.recipe import Recipe
from replab.settings.words import duration

PREFIX = "probe:"
SHARE = 0.25  # of the budget, at most, is for the race, the rest for the winner


def entrant(name: str) -> tuple[str, dict[str, Any]]:
    """(the model, the settings of its own) of an entrant's name."""
    if not name.startswith(PREFIX):
        return name, {}
    model, _, weights = name.removeprefix(PREFIX).partition("@")
    start: dict[str, Any] = {"weights": weights} if weights else {"pretrained": True}
    return model, {"freeze": True, "head": "logistic", **start}


def at_hand() -> list[str]:
    """Probes of the backbones whose weights are in the cache."""
    from replab.models.pretrained import backbones

    return [PREFIX + name for name in backbones.at_hand()]


def measured(recipe: Recipe, images: Any, budget: float) -> dict[str, Any]:
    """Seconds of an image, and of the whole probe, which must fit into the winner's time."""
    from replab.training import cost
    from replab.training.prepare import prepare

    began = perf_counter()
    try:
        found = cost.measure(prepare(recipe, None, images))
    except ReplabError as error:
        return {"out": str(error), "rounds": [], "seconds": perf_counter() - began}
    each = found.feature_seconds / (len(images.train) + len(images.test))
    whole = found.feature_seconds + found.search_seconds + (found.train_seconds or 0.0)
    needs = whole / (1 - SHARE)
    return {
        "rounds": [], "image": each, "step": each * images.spec.classes, "whole": whole, "needs": needs,
        "out": f"too slow: its features take {duration(found.feature_seconds)}" if needs > budget else "",
        "seconds": perf_counter() - began,
    }  # fmt: skip


def compete(
    recipe: Recipe,
    images: Any,
    split: Callable[[int], tuple[Any, Any]],
    known: dict[str, Any],
    seconds: float,
    splits: int = 1,
) -> dict[str, Any]:
    """One round: a head fitted on the features of as many images as the seconds pay for, of one split."""
    from replab.models.adapt.heads import DECAY
    from replab.training.prepare import prepare

    began, (part, validation) = perf_counter(), split(0)
    count = int(seconds / known["image"]) - len(validation)
    some = part if count >= len(part) else part.take(count, recipe.seed)
    head = prepare(recipe, None, replace(images, train=some, test=validation)).learner(Events())
    fitted = head.recipe.replace(weight_decay=sqrt(DECAY[0] * DECAY[1]))  # the middle: the search of a run finds it
    model = head.model(fitted)
    for _ in head.fit(model, fitted):
        pass
    found = head.evaluate(model, head.data.test, fitted).metrics
    return {
        "epochs": 1, "images": len(some), "splits": 1, "accuracy": found["accuracy"], "loss": found["loss"],
        "seconds": round(perf_counter() - began, 2),
    }  # fmt: skip
