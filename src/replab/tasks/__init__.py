"""What is learned. A task yields named, per-sample losses to the one training loop and says what it measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from replab.data.images import ImageSpec
from replab.errors import RecipeError, UnknownName
from replab.settings.recipe import Recipe

NAMES = ("classify", "reconstruct", "quantise", "adversarial")
RANGES = {(0.0, 1.0): "none", (-1.0, 1.0): "half"}  # how pixels come to lie in a model's range


def make(recipe: Recipe, image: ImageSpec, lib: Any, build: Callable[..., Any] | None = None) -> Any:
    """The recipe's task for these images; `auto` is what the model's builder says it learns, else classify."""
    said = getattr(build, "task", None)
    name = recipe.task if recipe.task != "auto" else said if isinstance(said, str) else "classify"
    if name not in NAMES:
        raise UnknownName("task", name, NAMES, "known: " + ", ".join(NAMES))
    if name != "classify" and recipe.backend != "torch":
        raise RecipeError(f"{name} runs on torch, got --backend {recipe.backend}; leave --backend out")
    if name == "reconstruct":
        from replab.tasks.reconstruct import Reconstruct

        return Reconstruct(lib)
    if name == "quantise":
        from replab.tasks.quantise import Quantise

        return Quantise(lib)
    if name == "adversarial":
        from replab.tasks.adversarial import Adversarial

        return Adversarial(lib)
    from replab.tasks.classify import Classify

    return Classify(lib, image.classes, recipe.loss, recipe.label_smoothing)


def settle(recipe: Recipe, task: Any, model: Any) -> Recipe:
    """The recipe with what task and model leave no choice about: pixels' range; rate and epochs without a search."""
    if (span := getattr(model, "pixel_range", None)) is not None:
        how = RANGES[span]
        if recipe.normalise not in ("dataset", how):
            raise RecipeError(
                f"{recipe.model} makes pixels from {span[0]:g} to {span[1]:g}, got --normalise {recipe.normalise};"
                f" --normalise {how} fits, or another --set output"
            )
        recipe = recipe.replace(normalise=how)
    for key in getattr(task, "weights", ()):
        if key in recipe.search.space:
            raise RecipeError(f"{key} is part of what a search minimises, got --search {key}; use replab sweep")
    if task.objective is None:
        if recipe.search.space:
            raise RecipeError(f"{task.name} has nothing a search may minimise, got a search; leave --search out")
        recipe = recipe.replace(lr=recipe.lr or task.lr, epochs=recipe.epochs or task.epochs)
    return recipe
