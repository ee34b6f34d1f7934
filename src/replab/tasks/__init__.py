"""What is learned. A task yields named, per-sample losses to the one training loop and says what it measures."""

from __future__ import annotations

from typing import Any

from replab.data.images import ImageSpec
from replab.errors import UnknownName
from replab.recipe import Recipe

NAMES = ("classify",)


def make(recipe: Recipe, image: ImageSpec, lib: Any) -> Any:
    """The recipe's task for these images."""
    name = "classify" if recipe.task == "auto" else recipe.task
    if name == "classify":
        from replab.tasks.classify import Classify

        return Classify(lib, image.classes, recipe.loss, recipe.label_smoothing)
    raise UnknownName("task", name, NAMES, "known: " + ", ".join(NAMES))
