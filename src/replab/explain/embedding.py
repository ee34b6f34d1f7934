"""Penultimate features of test images in two dimensions: what the head is given to tell classes apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from replab.data.images import Images
from replab.errors import DataError, RunError
from replab.records.values import examples
from replab.tasks.tsne import FEWEST
from replab.training import features


@dataclass(frozen=True, eq=False)
class Penultimate:
    """Of N test images."""

    rows: np.ndarray  # (N, D): what the head is given
    labels: np.ndarray
    predicted: np.ndarray
    index: np.ndarray  # their numbers among the test images
    pixels: np.ndarray  # uint8 (N, C, H, W)


def penultimate(
    run: Any, images: int, model: Any = None, notice: Callable[[str], None] = lambda text: None
) -> Penultimate:
    """Of at most this many of the run's test images, drawn by seed; where its data is gone, of those it kept."""
    if images < FEWEST:
        raise RunError(f"t-SNE needs at least {FEWEST} images, got {images}")
    if run.chosen.backend != "torch" or run.input.get("task") != "classify":
        raise RunError(f"run {run.id} is not a torch classifier; embed looks into those")
    labels, predicted = run.predictions["labels"], run.predictions["logits"].argmax(1)
    chosen = drawn(len(labels), images, run.chosen.seed)
    try:
        ready = run.reopened(model)
        shown = ready.data.test.subset(chosen)
    except DataError:  # the folder alone: the test images it keeps
        kept, pixels = examples.of_the_size(run.record)
        if len(kept) < FEWEST:
            raise
        ready, few = run.restored(model), drawn(len(kept), images, run.chosen.seed)
        chosen, classes = kept[few], tuple(run.input["classes"])
        shown = Images(pixels[few], labels[chosen], classes, (), ())
        notice(f"note: the data of run {run.id} is not there; shown are {len(few)} test images that the run kept")
    rows = features.penultimate(ready, run.model(model), shown, run.normalised(), trained_on=shown)
    return Penultimate(rows, labels[chosen], predicted[chosen], chosen, np.asarray(shown.pixels[:]))


def drawn(total: int, images: int, seed: int) -> np.ndarray:
    """Which of so many test images."""
    return np.sort(np.random.default_rng(seed).permutation(total)[:images])
