"""Who enters a race: each model looked at for a moment; those that the race has time for are timed as it counts."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from replab.errors import ReplabError
from replab.race import probe
from replab.race.field import choose
from replab.race.probe import SHARE
from replab.settings.recipe import Recipe
from replab.settings.words import duration

ENOUGH = 0.2  # of the usual epochs: who would win and be trained for less does not enter
GLIMPSE = 8  # images of a first step
State = dict[str, Any]  # race.json


def enter_all(state: State, recipes: dict[str, Recipe], images: Any, keep: Callable[[], None]) -> None:
    """Each looked at for a moment, then those chosen that the race has time for."""
    known = state["entrants"]
    for name, recipe in recipes.items():
        if name not in known:
            frozen = probe.measured if recipe.freeze else looked_at
            known[name] = frozen(recipe, images, state["budget"])
            state["spent"] += known[name].pop("seconds")
            keep()

    def time(name: str) -> None:
        if "step" not in known[name]:  # else it is a probe, or was timed before an interruption
            known[name] |= measured(recipes[name], images, state["budget"])
            state["spent"] += known[name].pop("seconds")
            keep()

    if not state["rounds"]:
        choose(state, time)
        keep()


def looked_at(recipe: Recipe, images: Any, budget: float) -> dict[str, Any]:
    """The model tried, and the cost of a whole training guessed from a step of a few images; or why it is out."""
    from replab.training.cost import steps_of
    from replab.training.loop import train_step
    from replab.training.prepare import prepare

    began, took = perf_counter(), []
    try:
        experiment = prepare(recipe.replace(lr=1e-3), None, images)
        asked, few = experiment.recipe, experiment.recipe.replace(batch_size=GLIMPSE)
        model = experiment.spare_model()
        optimizers = experiment.optimizers(model, few)
        some = experiment.data.train.subset(slice(0, 4 * GLIMPSE))
        for index, batch in enumerate(experiment.batches(some, model, few, shuffled=True).epoch(1)):
            started = perf_counter()
            train_step(experiment, model, batch, optimizers, few, index, 4)
            took.append(perf_counter() - started)
    except ReplabError as error:
        return {"out": str(error), "rounds": [], "seconds": perf_counter() - began}
    steps = steps_of(len(images.train), asked) * (asked.epochs or 1)
    whole = 0.5 * min(took) * asked.batch_size / GLIMPSE * steps  # larger batches take less per image
    return {"rounds": [], "seconds": perf_counter() - began, **admitted(whole, budget)}


def measured(recipe: Recipe, images: Any, budget: float) -> dict[str, Any]:
    """Seconds of a step and of an image, as before every run."""
    from replab.training import cost
    from replab.training.prepare import prepare

    began = perf_counter()
    try:
        found = cost.measure(prepare(recipe.replace(lr=1e-3), None, images))
    except ReplabError as error:
        return {"out": str(error), "seconds": perf_counter() - began}
    times = {"step": found.step_seconds, "image": found.image_seconds, "seconds": perf_counter() - began}
    return {**times, **admitted(found.train_seconds or 0.0, budget)}


def admitted(whole: float, budget: float) -> dict[str, Any]:
    """Whether the winner's time would train it for long enough; `whole`: seconds of its usual training."""
    needs = ENOUGH * whole / (1 - SHARE)
    slow = f"too slow: {duration(needs)} would train it for {ENOUGH:.0%} of the usual epochs"
    return {"whole": whole, "needs": needs, "out": slow if needs > budget else ""}
