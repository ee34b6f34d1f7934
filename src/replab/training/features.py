"""A frozen backbone sees each image once: its features are kept, and the head alone is searched and trained on them.

The same fit() runs, on a Setup whose images are features and whose model is the head. Test images' features are
made when they are first looked at, after the search.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import sha256
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import nn

from replab.data.features import Features
from replab.data.images import Images
from replab.data.normalise import normalisation
from replab.models.adapt import freezing
from replab.records.progress import Progress
from replab.search.search import RECIPE_KEYS
from replab.settings.recipe import Recipe
from replab.training import feature_cache
from replab.training.experiment import Setup
from replab.training.loop import watching_batches

BATCH = 128  # images at a time; fixed, so that rows do not depend on where a pass began


@dataclass(frozen=True, eq=False)
class HeadSetup(Setup):
    """A setup of the head alone. `whole` is that of the model it belongs to."""

    whole: Any = None
    first: Any = None  # the head as every trial begins with it

    def fresh_model(self, recipe: Recipe | None = None) -> Any:
        return copy.deepcopy(self.first)

    def whole_state(self, model: Any) -> dict[str, Any]:
        full = self.whole.fresh_model()
        freezing.head(full).load_state_dict(model.state_dict())
        return full.state_dict()

    def part(self, model: Any) -> Any:
        return freezing.head(model)


class FeatureData:
    """In a Dataset's place; each half is made when it is first asked for."""

    def __init__(self, setup: Setup, make: Callable[[Images], Features]):
        self.name, self.fingerprint, self.spec = setup.data.name, setup.data.fingerprint, setup.data.spec
        self._images, self._make = setup.data, make

    @cached_property
    def train(self) -> Features:
        return self._make(self._images.train)

    @cached_property
    def test(self) -> Features:
        return self._make(self._images.test)


def applies(setup: Setup) -> bool:
    """Whether the backbone is the same for every image in every epoch of every trial."""
    recipe = setup.recipe
    return (
        recipe.freeze
        and recipe.feature_cache
        and not recipe.augment
        and not isinstance(setup, HeadSetup)
        and all(key in RECIPE_KEYS for key in recipe.search.space)
        and _splits(setup)
    )


def learner(setup: Setup, progress: Progress) -> Setup:
    """What search and training run on: the head on features where that is the same, else the setup as it is."""
    if not applies(setup):
        return setup
    model = setup.fresh_model()
    first, body = freezing.head(model), _body(model)
    mark = backbone_mark(setup, body)

    def make(images: Images) -> Features:
        key = sha256(f"{mark} {_content(images.pixels)}".encode()).hexdigest()
        width = features_of(setup, body, images.subset(slice(0, 1))).shape[1]

        def compute(start: int, stop: int) -> np.ndarray:
            return features_of(setup, body, images.subset(slice(start, stop)))

        found = feature_cache.rows(key, len(images), width, compute, progress.features)
        return Features(found, images.labels, images.classes, (), ())

    return _head_setup(setup, first, FeatureData(setup, make))


def blank(setup: Setup) -> tuple[Setup, float]:
    """For a cost estimate: the head on features that are all zero, and the backbone's seconds an image."""
    model = setup.fresh_model()
    first, body = freezing.head(model), _body(model)
    for count in (8, BATCH):  # the few warm up; a backbone that is slow on them is not asked for more
        few = setup.data.train.subset(slice(0, count))
        started = perf_counter()
        width = features_of(setup, body, few).shape[1]
        seconds = perf_counter() - started
        if seconds > 1:
            break
    zeros = np.zeros((1, width), np.float32)

    def make(images: Images) -> Features:
        return Features(np.broadcast_to(zeros, (len(images), width)), images.labels, images.classes, (), ())

    return _head_setup(setup, first, FeatureData(setup, make)), seconds / len(few)


def features_of(setup: Setup, body: nn.Module, images: Images) -> np.ndarray:
    """(N, D) float32, in batches on the device."""
    recipe = setup.recipe.replace(batch_size=BATCH)
    batches = watching_batches(body, recipe, setup.data.train, images, setup.device)
    batches.batch_size = BATCH
    with torch.inference_mode(), setup.backend.autocast(setup.device):
        return np.concatenate([body(batch.x).float().cpu().numpy() for batch in batches.epoch(0)])


def backbone_mark(setup: Setup, body: nn.Module) -> str:
    """A digest of what decides features besides the images: weights, structure, input size, normalisation."""
    found = sha256(repr((feature_cache.FORMAT, torch.__version__, setup.device.partition(":")[0])).encode())
    found.update(repr((str(body), setup.source.name, setup.source.sha256)).encode())
    found.update(repr(normalisation(setup.data.train, setup.recipe.normalise)).encode())
    for name, value in [*body.state_dict().items(), *body.named_buffers()]:  # buffers: those not saved too
        array = np.ascontiguousarray(value.detach().cpu().numpy())
        found.update(repr((name, array.shape, str(array.dtype))).encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _content(pixels: np.ndarray) -> str:
    found = sha256(repr(pixels.shape).encode())
    for start in range(0, len(pixels), 1024):
        found.update(np.ascontiguousarray(pixels[start : start + 1024]).data)
    return found.hexdigest()


def _body(model: nn.Module) -> nn.Module:
    """The model up to its head; the model is used up."""
    freezing.set_module(model, freezing.head_name(model), nn.Identity())
    return model.eval()


def _splits(setup: Setup) -> bool:
    """True if the model's output is its head's, on a row of features an image: not so where layers follow the head."""
    model = setup.fresh_model().eval()
    few = setup.data.train.subset(slice(0, 2))
    x = next(iter(watching_batches(model, setup.recipe, setup.data.train, few, setup.device).epoch(0))).x
    with torch.inference_mode():
        whole, end = model(x), freezing.head(model)
        features = _body(model)(x)
        if features.ndim != 2:
            return False
        return bool(torch.allclose(end(features), whole, atol=1e-5))


def _head_setup(setup: Setup, first: nn.Module, data: Any) -> HeadSetup:
    same: dict[str, Any] = {f.name: getattr(setup, f.name) for f in fields(Setup)}
    return HeadSetup(**{**same, "data": data}, whole=setup, first=first)
