"""What is learned: one file per task, each with its losses, its metrics and its part of a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from replab.backends.own_parts import Parts
from replab.data.images import ImageSpec
from replab.errors import RecipeError, UnknownName
from replab.settings.recipe import Recipe
from replab.settings.setting import settings_of
from replab.tasks.base import Task, task


def make(
    recipe: Recipe, image: ImageSpec, lib: Any, build: Callable[..., Any] | None = None, parts: Parts | None = None
) -> Task:
    """The recipe's task for these images; `auto` is the one that the model's builder names, else classify."""
    named = getattr(build, "task", None)
    name = recipe.task if recipe.task != "auto" else named if isinstance(named, str) else "classify"
    kind: type[Task] = task.get(name)
    if recipe.backend not in kind.backends:
        raise RecipeError(f"{name} runs on {' or '.join(kind.backends)}, got --backend {recipe.backend}")
    for given in ("loss", "metric"):
        if not kind.takes_loss and (value := getattr(recipe, given)) != settings_of(Recipe)[given].default:
            words = value if isinstance(value, str) else ",".join(value)
            raise RecipeError(f"--{given} is of classifiers, and {name} has its own, got {words}; leave it out")
    return kind.of(recipe, image, lib, Parts() if parts is None else parts)


def of_run(name: str) -> type[Task]:
    """The task that a run names; the defaults for one that is not known here, as a user's own may be."""
    try:
        kind: type[Task] = task.get(name)
    except UnknownName:
        return Task
    return kind
