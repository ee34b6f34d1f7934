"""What a classifier answered, from its logits (N, classes), block by block: many classes need little memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from replab.errors import RunError
from replab.records.values.arrays import BLOCK, Arrays

MISTAKES = 32  # wrong answers that a run keeps images of: the most confident ones


@dataclass(frozen=True, eq=False)
class Answers:
    """Of every test image, (N,) each."""

    labels: np.ndarray
    predicted: np.ndarray  # the class of the largest logit
    confidence: np.ndarray  # its probability

    @property
    def right(self) -> np.ndarray:
        return np.asarray(self.predicted == self.labels)


def read_answers(arrays: Arrays, what: str) -> Answers | None:
    """Those of a run's predictions; None where there are no logits of labelled images."""
    if "logits" not in arrays or "labels" not in arrays:
        return None
    labels, classes = arrays["labels"], 0
    predicted, sure = [], []
    for block in arrays.blocks("logits"):
        if block.ndim != 2 or block.dtype.kind != "f" or not block.shape[1]:
            raise RunError(f"{what}: logits must be floats of (images, classes), got {block.dtype} {block.shape[1:]}")
        classes = block.shape[1]
        predicted.append(block.argmax(1))
        sure.append(np.exp(surety(block)))
    answers = Answers(labels, *(np.concatenate(parts) if parts else np.empty(0) for parts in (predicted, sure)))
    if labels.shape != answers.predicted.shape or labels.dtype.kind not in "iu":
        raise RunError(f"{what}: one label per logit row is needed, got {labels.shape} and {answers.predicted.shape}")
    if len(labels) and not 0 <= labels.min() <= labels.max() < classes:
        raise RunError(f"{what}: labels must be from 0 to {classes - 1}, got {labels.min()} to {labels.max()}")
    return answers


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(1, keepdims=True)))


def surety(logits: np.ndarray) -> np.ndarray:
    """The log probability of each image's most likely class, (N,): the largest of its log_softmax."""
    parts = []
    for block in _blocks(logits):
        shifted = block.astype(np.float64)
        shifted -= shifted.max(1, keepdims=True)
        parts.append(-np.log(np.exp(shifted, out=shifted).sum(1)))
    return _joined(parts)


def log_likelihood(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The log probability of each image's own class, (N,)."""
    start, parts = 0, []
    for block in _blocks(logits):
        own = labels[start : start + len(block)]
        parts.append(log_softmax(block.astype(np.float64))[np.arange(len(block)), own])
        start += len(block)
    return _joined(parts)


def most_confident_mistakes(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Indices of at most MISTAKES wrong answers, the most confident first."""
    wrong = np.flatnonzero(logits.argmax(1) != labels)
    return wrong[np.argsort(-surety(logits[wrong]), kind="stable")][:MISTAKES]


def confusions(labels: np.ndarray, predicted: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(true class, predicted class, how often) of every pair that occurs: at most one per image."""
    pairs, counts = np.unique(labels.astype(np.int64) * classes + predicted, return_counts=True)
    return pairs // classes, pairs % classes, counts


def confusion_matrix(labels: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """Counts, (true class, predicted class)."""
    counts = np.bincount(labels.astype(np.int64) * classes + predicted, minlength=classes * classes)
    return counts.reshape(classes, classes)


def _blocks(logits: np.ndarray) -> Iterable[np.ndarray]:
    step = max(1, BLOCK // max(1, logits.shape[1]))
    return (logits[start : start + step] for start in range(0, len(logits), step))


def _joined(parts: Iterable[np.ndarray]) -> np.ndarray:
    blocks = list(parts)
    return np.concatenate(blocks) if blocks else np.empty(0)
