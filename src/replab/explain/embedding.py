"""Penultimate features of test images in two dimensions: what the head is given to tell classes apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from replab.errors import RunError
from replab.tasks.tsne import FEWEST
from replab.training import features


def penultimate(run: Any, images: int, model: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(features (N, D), labels, the predicted classes) of at most this many of the run's test images, drawn by seed."""
    if images < FEWEST:
        raise RunError(f"t-SNE needs at least {FEWEST} images, got {images}")
    if run.chosen.backend != "torch" or run.input.get("task") != "classify":
        raise RunError(f"run {run.id} is not a torch classifier; embed looks into those")
    ready, network = run.reopened(model), run.model(model)
    labels, predicted = run.predictions["labels"], run.predictions["logits"].argmax(1)
    chosen = drawn(len(labels), images, run.chosen.seed)
    return features.penultimate(ready, network, ready.data.test.subset(chosen)), labels[chosen], predicted[chosen]


def drawn(total: int, images: int, seed: int) -> np.ndarray:
    """Which of so many test images."""
    return np.sort(np.random.default_rng(seed).permutation(total)[:images])
