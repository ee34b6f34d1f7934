"""A user's own parts, each called once on made-up numbers: what they cannot do is said before anything is written."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import torch

from replab.backends.backend import Backend
from replab.backends.own_parts import Part, Parts, users_code
from replab.data.augment.steps import Mixed, parse
from replab.data.images import Dataset
from replab.errors import ModelError, RecipeError
from replab.settings.choices import metric
from replab.settings.own_parts import own_parts
from replab.settings.recipe import Recipe
from replab.tasks.metrics import key_of

FEW = 4  # images


def try_parts(recipe: Recipe, own: Parts, data: Dataset, task: Any, backend: Backend) -> None:
    classes = data.spec.classes
    for name in recipe.metric:
        least = 0 if name in own else getattr(metric.get(name), "classes", 0)
        if classes < least:
            raise RecipeError(f"--metric {name} needs at least {least} classes, got {classes}; leave it out")
    for name, setting in own_parts(recipe).items():
        part = own[name]
        with users_code(f"{name} fails as {setting}", part.path):
            if setting == "schedule":
                _schedule(part)
            elif setting == "loss":
                _loss(part, task, classes, backend)
            elif setting == "metric":
                _metric(part, task, data)
            elif setting == "augment":
                _augmentation(recipe, own, name, data)


def _schedule(part: Part) -> None:
    for step in (0, 5, 9):
        rate = part.function(step, 10, 0.1)
        if not isinstance(rate, numbers.Real) or not math.isfinite(rate) or rate < 0:
            raise ModelError(
                f"{part.name} must return a rate of at least 0, got {rate!r} at step {step} of 10; return a number"
            )


def _loss(part: Part, task: Any, classes: int, backend: Backend) -> None:
    """One number per image, which depends on the logits."""
    generator = torch.Generator().manual_seed(0)
    logits = backend.tensor(torch.randn(FEW, classes, generator=generator)).requires_grad_(True)
    loss = task.loss(logits, backend.tensor(torch.arange(FEW) % classes))
    shape = tuple(getattr(loss, "shape", (type(loss).__name__,)))
    if shape != (FEW,):
        got = "one number for the whole batch" if shape == () else f"shape {shape}"
        raise ModelError(
            f"{part.name} must return one loss per image, shape ({FEW},) for {FEW} images, got {got};"
            " reduction='none' gives them"
        )
    if not math.isfinite(float(loss.detach().sum())):
        raise ModelError(
            f"{part.name} must return finite numbers, got {loss.detach().tolist()} for random logits; check it"
        )
    if not loss.requires_grad:
        raise ModelError(f"{part.name} must depend on the logits, got a loss without a gradient; use torch's functions")


def _metric(part: Part, task: Any, data: Dataset) -> None:
    """On random answers to some of the training labels, of all places: a folder has its classes one after another."""
    assert data.train.labels is not None
    labels = data.train.labels[:: max(1, len(data.train) // 500)]
    logits = np.random.default_rng(0).normal(size=(len(labels), data.spec.classes)).astype(np.float32)
    found = part.function(logits, labels)
    if np.ndim(found) or not isinstance(found, (numbers.Real, np.generic, np.ndarray)) or not math.isfinite(found):
        got = f"an array of shape {np.shape(found)}" if np.ndim(found) else repr(found)
        raise ModelError(f"{part.name} must return a finite number, got {got} for random logits; return float(...)")
    assert key_of(part.name) in task.metrics


def _augmentation(recipe: Recipe, own: Parts, name: str, data: Dataset) -> None:
    """As many images of the same shape, finite."""
    x = torch.rand(FEW, data.spec.channels, data.spec.height, data.spec.width)
    black = torch.zeros(1, data.spec.channels, 1, 1)
    for step in parse(recipe.augment, own):
        if step.name == name:
            found = step.function(x.clone(), torch.Generator().manual_seed(0), black, *step.args)
            found = found.x if isinstance(found, Mixed) else found
            if not isinstance(found, torch.Tensor) or found.shape != x.shape:
                got = f"shape {tuple(found.shape)}" if isinstance(found, torch.Tensor) else type(found).__name__
                raise ModelError(f"{name} must return images of the shape it got, {tuple(x.shape)}, got {got}")
            if not torch.isfinite(found).all():
                raise ModelError(f"{name} must return finite pixels, got NaN or infinity; check it")
