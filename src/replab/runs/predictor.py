"""Predictor: what a run's model says of images. All but the images is read once, for folders of thousands."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from replab.data.decode.as_pixels import as_pixels, quiet_pillow
from replab.data.images import Images
from replab.errors import RunError
from replab.records.values.answers import log_softmax


@dataclass(frozen=True)
class Prediction:
    """What a model says of one image."""

    label: str
    probability: float
    probabilities: dict[str, float]


class Predictor:
    """Of a Run. The model is made when images have been read: a mistyped path is refused before that."""

    def __init__(self, run: Any, model: Any = None):
        data = run.input
        if not data.get("classes"):
            raise RunError(f"run {run.id} has no classes: its images were not labelled")
        self.run, self.named = run, model
        self.classes = tuple(data["classes"])
        self.shape = (data["channels"], data["height"], data["width"])
        self.recipe = run.normalised()

    @cached_property
    def network(self) -> Any:
        return self.run.model(self.named)

    @cached_property
    def experiment(self) -> Any:
        return self.run.restored(self.named)

    def for_many(self) -> Predictor:
        """For a thread of its own: a model may keep what it computes in itself. Those of the zoo are also folded."""
        from replab.models.adapt.folding import folded

        other, own = copy.copy(self), self.experiment.source.text is not None
        other.network = copy.deepcopy(self.network) if own else folded(self.network)
        return other

    def pixels(self, images: Sequence[Any]) -> np.ndarray:
        """(N, C, H, W) uint8: images as the run's data source would have read them."""
        with quiet_pillow():
            return np.stack([as_pixels(image, *self.shape, self.recipe.fit) for image in images])

    def answers(self, pixels: np.ndarray) -> list[Prediction]:
        """What the model says of images of its size."""
        network = self.network
        shown = Images(pixels, np.zeros(len(pixels), np.int64), self.classes, (), ())
        outputs = self.experiment.evaluate(network, shown, self.recipe, trained_on=shown).outputs
        logits = outputs["logits"] if "logits" in outputs else self._scores(network, shown)
        if logits is None:
            model = self.recipe.model
            raise RunError(f"run {self.run.id} is of {model}, which names no classes; use a classifier's run")
        shares = np.exp(log_softmax(logits.astype(np.float64)))
        best = shares.argmax(1)
        return [
            Prediction(self.classes[place], row[place], dict(zip(self.classes, row)))
            for place, row in zip(best.tolist(), shares.tolist())
        ]

    def _scores(self, network: Any, shown: Images) -> np.ndarray | None:
        """log p(x, y) by a task that has it, (N, classes). One image at a time: none changes another's noise."""
        task, scores, record = self.experiment.task, [], self.run.record
        fitted = record.predictions("fitted.npz") if record.has("fitted.npz") else {}
        for i in range(len(shown)):
            one = shown.subset(slice(i, i + 1))
            batches = self.experiment.batches(one, network, self.recipe, trained_on=one)
            if (scored := task.class_scores(network, batches, fitted)) is None:
                return None
            scores.append(scored[0])
        return np.concatenate(scores)
