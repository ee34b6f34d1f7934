"""Classification: what a model that gives logits (B, classes) learns, and how it is measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from replab.data.images import ImageSpec
from replab.errors import ModelError


class Classify:
    """Cross-entropy (or squared error on one-hot targets), a loss a sample."""

    name = "classify"
    objective = "loss"  # what a search minimises, on validation images
    needs_labels = True

    def __init__(self, lib: Any, classes: int, loss: str = "cross-entropy", label_smoothing: float = 0.0):
        self.functional = lib.nn.functional
        self.classes, self.loss, self.label_smoothing = classes, loss, label_smoothing

    def check_output(self, name: str, output: Any, batch: Any, image: ImageSpec) -> None:
        """Refuse a model whose output is not one logit a class."""
        shape = tuple(getattr(output, "shape", ()))
        wanted = (len(batch.index), image.classes)
        if shape != wanted:
            got = f"shape {shape}" if shape else type(output).__name__
            raise ModelError(f"{name} must give logits of shape {wanted} for {wanted[0]} images of {image}, got {got}")

    def parts(self, model: Any) -> dict[str, list[Any]]:
        """The parts trained by an optimiser of their own: here one."""
        return {"model": [p for p in model.parameters() if p.requires_grad]}

    def losses(self, model: Any, batch: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        logits = model(batch.x)  # (B, classes)
        if self.loss == "squared-error":
            loss = ((logits - self.functional.one_hot(batch.y, self.classes)) ** 2).mean(1)
        else:
            loss = self.functional.cross_entropy(
                logits, batch.y, reduction="none", label_smoothing=self.label_smoothing
            )
        yield "model", loss, {"loss": loss, "accuracy": logits.argmax(1) == batch.y}

    def outputs(self, model: Any, batch: Any) -> dict[str, Any]:
        """What evaluation keeps of a batch."""
        return {"logits": model(batch.x)}

    def measure(self, outputs: dict[str, np.ndarray], labels: np.ndarray) -> dict[str, float]:
        """Loss without smoothing, accuracy, and calibration error, from logits and labels alone."""
        logits = outputs["logits"].astype(np.float64)
        if self.loss == "squared-error":
            losses = ((logits - np.eye(logits.shape[1])[labels]) ** 2).mean(1)
        else:
            losses = -log_softmax(logits)[np.arange(len(labels)), labels]
        return {
            "loss": float(losses.mean()),
            "loss_se": float(losses.std() / np.sqrt(len(losses))),  # how sure the mean is
            "accuracy": accuracy(logits, labels),
            "ece": calibration_error(logits, labels),
        }


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    return float((logits.argmax(1) == labels).mean())


def confusion_matrix(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Counts, (true, said)."""
    k = logits.shape[1]
    return np.bincount(labels * k + logits.argmax(1), minlength=k * k).reshape(k, k)


def calibration_error(logits: np.ndarray, labels: np.ndarray, bins: int = 15) -> float:
    """Expected calibration error: |confidence - accuracy| averaged over equal-width bins of confidence."""
    confidence = np.exp(log_softmax(logits.astype(np.float64)).max(1))
    correct = logits.argmax(1) == labels
    which = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = np.abs(np.bincount(which, confidence - correct, minlength=bins))
    return float(gaps.sum() / len(labels))
