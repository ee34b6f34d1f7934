"""The Task protocol: what is learned, how it is measured, and what a report says of it.

A task is one file of this folder with a class under `@task`. It yields named losses, one number per sample, to the one
training loop. Task files are imported to read reports too, so they import torch inside methods only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from replab.backends.own_parts import Parts
from replab.data.images import Dataset, Images, ImageSpec
from replab.errors import RecipeError
from replab.settings.choices import task as task  # the decorator of a task: @task
from replab.settings.recipe import Recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from replab.records.values import Values


RANGES = {(0.0, 1.0): "none", (-1.0, 1.0): "half"}  # range of a model's pixels → the normalisation that gives it

Lines = list[tuple[str, str]]  # (name, text) of a report
Pictures = Mapping[str, Callable[[], "Figure"]]  # name → draws it


class Task:
    """A task must define `losses`, `outputs` and `measure`; the rest has defaults."""

    entry_name: ClassVar[str]  # set by @task: the class's name in lower case
    objective: ClassVar[str | None] = "loss"  # what a search minimises on validation images; None: no search
    needs_labels: ClassVar[bool] = False
    mixes_labels: ClassVar[bool] = False  # whether `losses` uses batch.target, which mixup and CutMix make
    takes_loss: ClassVar[bool] = False  # whether --loss and --metric, which are of logits, mean anything to it
    backends: ClassVar[tuple[str, ...]] = ("torch",)
    weights: ClassVar[tuple[str, ...]] = ()  # model parameters that weigh the terms of the loss: not to be searched
    betas: ClassVar[tuple[float, float] | None] = None  # Adam's, where they differ from its defaults
    lr: ClassVar[float | None] = None  # with `epochs`: used when there is no search and none was given
    epochs: ClassVar[int | None] = None

    def __init__(self, lib: Any):
        self.lib, self.functional = lib, lib.nn.functional

    @classmethod
    def of(cls, recipe: Recipe, image: ImageSpec, lib: Any, parts: Parts) -> Task:
        """The task with a recipe's settings. `lib` is torch or mytorch, `parts` are the user's own."""
        return cls(lib)

    @property
    def name(self) -> str:
        return self.entry_name

    # -- training ------------------------------------------------------------------------------------------------------

    def settle(self, recipe: Recipe, model: Any) -> Recipe:
        """The recipe with everything that the task and the model leave no choice about."""
        if (span := getattr(model, "pixel_range", None)) is not None:
            how = RANGES[span]
            if recipe.normalise not in ("dataset", how):
                raise RecipeError(
                    f"{recipe.model} makes pixels from {span[0]:g} to {span[1]:g}, got --normalise {recipe.normalise};"
                    f" --normalise {how} fits, or another --set output"
                )
            recipe = recipe.replace(normalise=how)
        for key in self.weights:
            if key in recipe.search.space:
                raise RecipeError(f"{key} is part of what a search minimises, got --search {key}; use replab sweep")
        if self.objective is None:
            if recipe.search.space:
                raise RecipeError(f"{self.name} has no loss that a search can minimise; leave --search out")
            recipe = recipe.replace(lr=recipe.lr or self.lr, epochs=recipe.epochs or self.epochs)
        return recipe

    def check_output(self, name: str, output: Any, batch: Any, image: ImageSpec) -> None:
        """Raise ModelError when a model's output is not what this task learns from."""

    def parts(self, model: Any) -> dict[str, list[Any]]:
        """The parameters by part; each part has its own optimizer. Here one part: all that is not frozen."""
        return {"model": [p for p in model.parameters() if p.requires_grad]}

    def losses(self, model: Any, batch: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        """(part, loss per sample (B,), what to log per sample), once per part; the part steps before the next one."""
        raise NotImplementedError

    # -- evaluation ----------------------------------------------------------------------------------------------------

    def outputs(self, model: Any, batch: Any) -> dict[str, Any]:
        """What evaluation keeps of a batch: name → tensor with one row per image."""
        raise NotImplementedError

    def measure(self, outputs: dict[str, np.ndarray], labels: np.ndarray | None) -> dict[str, float]:
        """Metrics of all images, from their outputs alone."""
        raise NotImplementedError

    @property
    def finishes(self) -> bool:
        """Whether `finish` has something to fit: all training images are evaluated for it."""
        return type(self).finish is not Task.finish

    def finish(self, outputs: dict[str, np.ndarray], train: Images, seed: int) -> dict[str, np.ndarray]:
        """What evaluation needs fitted, on training images alone: arrays that the run keeps."""
        return {}

    def conclude(
        self,
        model: Any,
        batches: Any,
        data: Dataset,
        outputs: dict[str, np.ndarray],
        fitted: dict[str, np.ndarray],
        batch_size: int,
    ) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """More metrics, and arrays for figures, by the trained model on the test images."""
        return {}, {}

    def class_scores(
        self, model: Any, batches: Any, fitted: dict[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """(log p(x, y), losses), (N, classes) each, of a model that names classes without logits; else None."""
        return None

    # -- report --------------------------------------------------------------------------------------------------------

    @classmethod
    def section(cls, values: Values) -> Lines:
        """What a report says of this run's numbers. Reads the run's plain values; no model, no torch."""
        return [(name.replace("_", " "), f"{value:.6g}") for name, value in values.metrics.items()]

    @classmethod
    def figures(cls, values: Values) -> Pictures:
        """The task's own figures, in the report's order."""
        return {}
