"""Classification: what a model that gives logits (B, classes) learns, and how it is measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.records.values.answers import log_likelihood
from replab.settings.recipe import Recipe
from replab.tasks import metrics
from replab.tasks.base import Lines, Task, task

if TYPE_CHECKING:
    from replab.records.values import Values


@task
class Classify(Task):
    """Cross-entropy (or squared error on one-hot targets), one loss per sample."""

    needs_labels = True
    mixes_labels = True
    backends = ("torch", "mytorch")

    def __init__(self, lib: Any, classes: int, loss: str = "cross-entropy", label_smoothing: float = 0.0):
        super().__init__(lib)
        self.classes, self.loss, self.label_smoothing = classes, loss, label_smoothing

    @classmethod
    def of(cls, recipe: Recipe, image: ImageSpec, lib: Any) -> Classify:
        return cls(lib, image.classes, recipe.loss, recipe.label_smoothing)

    def check_output(self, name: str, output: Any, batch: Any, image: ImageSpec) -> None:
        """Refuse a model whose output is not one logit per class."""
        shape = tuple(getattr(output, "shape", ()))
        wanted = (len(batch.index), image.classes)
        if shape != wanted:
            got = f"shape {shape}" if shape else type(output).__name__
            raise ModelError(f"{name} must give logits of shape {wanted} for {wanted[0]} images of {image}, got {got}")

    def losses(self, model: Any, batch: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        """Against the mixed targets (B, classes) where an augmentation made some; accuracy is against the labels."""
        logits = model(batch.x)  # (B, classes)
        if logits.element_size() < 4:  # a softmax in bfloat16 would round too much
            logits = logits.float()
        if self.loss == "squared-error":
            target = self.functional.one_hot(batch.y, self.classes) if batch.target is None else batch.target
            loss = ((logits - target) ** 2).mean(1)
        else:
            target = batch.y if batch.target is None else batch.target
            loss = self.functional.cross_entropy(logits, target, reduction="none", label_smoothing=self.label_smoothing)
        yield "model", loss, {"loss": loss, "accuracy": logits.argmax(1) == batch.y}

    def outputs(self, model: Any, batch: Any) -> dict[str, Any]:
        return {"logits": model(batch.x)}

    def measure(self, outputs: dict[str, np.ndarray], labels: np.ndarray | None) -> dict[str, float]:
        """The loss without smoothing, and every registered metric."""
        assert labels is not None
        logits = outputs["logits"]
        losses = sample_losses(logits, labels, self.loss)
        return {
            "loss": float(losses.mean()),
            "loss_se": float(losses.std() / np.sqrt(len(losses))),  # how sure the mean is
            **metrics.measure(logits, labels),
        }

    @classmethod
    def section(cls, values: Values) -> Lines:
        lines = metrics.lines(values)
        return [*lines[:1], ("test loss", f"{values.metrics['loss']:.4f}"), *lines[1:]]


def sample_losses(logits: np.ndarray, labels: np.ndarray, loss: str) -> np.ndarray:
    """Each image's loss without smoothing, (N,) float64."""
    if loss == "squared-error":
        logits = logits.astype(np.float64)
        return np.asarray(((logits - np.eye(logits.shape[1])[labels]) ** 2).mean(1))
    return -log_likelihood(logits, labels)
