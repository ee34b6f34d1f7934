"""Classification: what a model that gives logits (B, classes) learns, and how it is measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.backends.own_parts import Parts
from replab.data.images import Dataset, ImageSpec
from replab.errors import ModelError
from replab.settings.recipe import Recipe
from replab.tasks import losses, metrics
from replab.tasks.base import Lines, Task, task

if TYPE_CHECKING:
    from replab.records.values import Values


@task
class Classify(Task):
    """A loss of logits and labels, one number per sample: cross-entropy, unless --loss names another."""

    needs_labels = True
    mixes_labels = True
    takes_loss = True
    backends = ("torch", "mytorch")

    def __init__(
        self,
        lib: Any,
        classes: int,
        loss: str = "cross-entropy",
        label_smoothing: float = 0.0,
        chosen: Sequence[str] = (),
        parts: Parts | None = None,
    ):
        super().__init__(lib)
        parts = Parts() if parts is None else parts
        self.classes = classes
        self.loss = losses.Loss(loss, parts.choose(losses.loss, loss), lib, label_smoothing)
        self.metrics = metrics.to_measure(chosen, parts)

    @classmethod
    def of(cls, recipe: Recipe, image: ImageSpec, lib: Any, parts: Parts) -> Classify:
        return cls(lib, image.classes, recipe.loss, recipe.label_smoothing, recipe.metric, parts)

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
        loss = self.loss(logits, batch.y if batch.target is None else batch.target)
        yield "model", loss, {"loss": loss, "accuracy": logits.argmax(1) == batch.y}

    def outputs(self, model: Any, batch: Any) -> dict[str, Any]:
        return {"logits": model(batch.x)}

    def measure(self, outputs: dict[str, np.ndarray], labels: np.ndarray | None) -> dict[str, float]:
        """The loss without smoothing, and the metrics."""
        assert labels is not None
        logits = outputs["logits"]
        found = self.loss.measured(logits, labels)
        return {
            "loss": float(found.mean()),
            "loss_se": float(found.std() / np.sqrt(len(found))),  # how sure the mean is
            **metrics.measure(logits, labels, self.metrics),
        }

    def conclude(
        self,
        model: Any,
        batches: Any,
        data: Dataset,
        outputs: dict[str, np.ndarray],
        fitted: dict[str, np.ndarray],
        batch_size: int,
    ) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """The intervals of the metrics that were asked for."""
        assert data.test.labels is not None
        return metrics.intervals(outputs["logits"], data.test.labels, self.metrics), {}

    @classmethod
    def section(cls, values: Values) -> Lines:
        lines = metrics.lines(values)
        return [*lines[:1], ("test loss", f"{values.metrics['loss']:.4f}"), *lines[1:]]
