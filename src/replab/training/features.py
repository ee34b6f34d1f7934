"""A frozen backbone sees each image once: its features are kept, and the head alone is searched and trained on them.

The same fit() runs, on an experiment whose images are features and whose model is the head. A head with a closed form
(logistic regression, k-NN) is fitted at once instead. Features of test images are made when they are first needed,
after the search.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import sha256
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import nn

from replab.data.batches import Batches
from replab.data.features import FeatureBatches, Features
from replab.data.images import Images
from replab.data.normalise import normalisation
from replab.errors import ModelError
from replab.models.adapt import freezing
from replab.records.events import Events
from replab.settings.recipe import Recipe, derive_seed
from replab.settings.rules import FITTED_HEADS
from replab.settings.searched import RECIPE_KEYS
from replab.training import feature_cache, loop
from replab.training.experiment import Experiment
from replab.training.loop import Row, Times
from replab.training.state import State

BATCH = 128  # images at a time, at most
PIXELS = 2**18  # at a time on a CPU: more leave its caches, and take twice the time and many times the memory


@dataclass(frozen=True, eq=False)
class Frozen(Experiment):
    """An experiment whose backbone is the same for every image in every epoch of every trial."""

    def learner(self, events: Events) -> Experiment:
        """The head on features that are computed once."""
        model = self.model()
        first, body = freezing.head(model), without_head(model)
        mark = backbone_mark(self, body)

        def make(images: Images) -> Features:
            key = sha256(f"{mark} {_content(images.pixels)}".encode()).hexdigest()
            width = features_of(self, body, images.subset(slice(0, 1))).shape[1]

            def compute(start: int, stop: int) -> np.ndarray:
                return features_of(self, body, images.subset(slice(start, stop)))

            def watch(blocks: Any, total: int) -> Iterator[int]:
                return events.each(blocks, "features", total)

            found = feature_cache.rows(key, len(images), width, compute, watch)
            return Features(found, images.labels, images.classes, (), ())

        return self._head_on(first, make)

    def rehearsal(self) -> tuple[Experiment, float]:
        """The head on features that are all zero, and the backbone's seconds per image."""
        model = self.model()
        first, body = freezing.head(model), without_head(model)
        for count in (8, BATCH):  # the few warm up; a backbone that is slow on them is not asked for more
            few = self.data.train.subset(slice(0, count))
            started = perf_counter()
            width = features_of(self, body, few).shape[1]
            seconds = perf_counter() - started
            if seconds > 1:
                break
        zeros = np.zeros((1, width), np.float32)

        def make(images: Images) -> Features:
            return Features(np.broadcast_to(zeros, (len(images), width)), images.labels, images.classes, (), ())

        return self._head_on(first, make), seconds / len(few)

    def _head_on(self, first: nn.Module, make: Callable[[Images], Features]) -> Head:
        kind = ClosedForm if self.recipe.head in FITTED_HEADS else Head
        same: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(Experiment)}
        return kind(**{**same, "data": FeatureData(self, make), "tried": []}, whole=self, first=first)


@dataclass(frozen=True, eq=False)
class Head(Experiment):
    """The head alone, on features. `whole` is the experiment of the model it belongs to."""

    whole: Any = None
    first: Any = None  # the head as every trial begins with it

    def model(self, recipe: Recipe | None = None) -> Any:
        return copy.deepcopy(self.first)

    def batches(
        self,
        images: Images,
        model: Any,
        recipe: Recipe | None = None,
        *,
        trained_on: Images | None = None,
        shuffled: bool = False,
    ) -> Batches:
        recipe = recipe or self.recipe
        assert isinstance(images, Features)
        size = recipe.batch_size if shuffled else max(recipe.batch_size, BATCH)
        seed = recipe.seed if shuffled else 0
        return FeatureBatches(images, size, seed=seed, shuffle=shuffled, device=self.device)

    def whole_state(self, model: Any) -> dict[str, Any]:
        full = self.whole.model()
        freezing.head(full).load_state_dict(model.state_dict())
        return full.state_dict()

    def part(self, model: Any) -> Any:
        return freezing.head(model)


@dataclass(frozen=True, eq=False)
class ClosedForm(Head):
    """A head that is fitted on all rows at once: its training is one epoch without steps."""

    in_steps = False

    def optimizers(self, model: Any, recipe: Recipe | None = None) -> dict[str, Any]:
        return {}

    def fit(
        self,
        model: Any,
        recipe: Recipe | None = None,
        *,
        train: Images | None = None,
        watch: Mapping[str, Images] | None = None,
        state: State | None = None,
        first_epoch: int = 1,
        events: Events | None = None,
    ) -> Iterator[tuple[Row, Times]]:
        recipe, train = recipe or self.recipe, self.data.train if train is None else train
        for epoch in range(first_epoch, 2):
            started = perf_counter()
            self.backend.lib.manual_seed(derive_seed(recipe.seed, 1, epoch))
            logs = model.fit_once(train.pixels, train.labels, self.task, recipe)
            row = {
                "epoch": float(epoch),
                "lr": float(recipe.lr or 1.0),
                **loop.averages([logs], [len(train)], "train_"),
            }
            times = {"train_seconds": perf_counter() - started, "images": float(len(train))}
            loop.check_finite(row, epoch)
            watched = loop.watching(self, model, recipe, train, watch or {})
            loop.look(self, model, watched, row, times)
            yield row, times


class FeatureData:
    """In a Dataset's place; each half is made when it is first asked for."""

    def __init__(self, experiment: Experiment, make: Callable[[Images], Features]):
        data = experiment.data
        self.name, self.fingerprint, self.spec = data.name, data.fingerprint, data.spec
        self._images, self._make = data, make

    @cached_property
    def train(self) -> Features:
        return self._make(self._images.train)

    @cached_property
    def test(self) -> Features:
        return self._make(self._images.test)


def frozen(experiment: Experiment) -> Experiment:
    """The experiment, as a Frozen one where its backbone needs to see each image only once."""
    recipe = experiment.recipe
    if (
        recipe.freeze
        and recipe.feature_cache
        and not recipe.augment
        and all(key in RECIPE_KEYS for key in recipe.search.space)
        and _ends_in_its_head(experiment)
    ):
        return Frozen(**{f.name: getattr(experiment, f.name) for f in fields(Experiment)})
    if recipe.head in FITTED_HEADS:
        raise ModelError(f"{experiment.source.name} has layers after its head; --head {recipe.head} needs it last")
    return experiment


def penultimate(
    experiment: Experiment,
    model: nn.Module,
    images: Images,
    recipe: Recipe | None = None,
    trained_on: Images | None = None,
) -> np.ndarray:
    """(N, D) float32: what enters the head of a whole model, whatever layers follow the head."""
    entered: list[np.ndarray] = []

    def keep(module: nn.Module, args: tuple[torch.Tensor, ...]) -> None:
        entered.append(args[0].flatten(1).float().cpu().numpy())

    hook = freezing.head(model).register_forward_pre_hook(keep)
    try:
        features_of(experiment, model, images, recipe, trained_on)
    finally:
        hook.remove()
    return np.concatenate(entered)


def features_of(
    experiment: Experiment,
    body: nn.Module,
    images: Images,
    recipe: Recipe | None = None,
    trained_on: Images | None = None,
) -> np.ndarray:
    """(N, D) float32, in batches on the device."""
    batches = experiment.batches(images, body, recipe or experiment.recipe, trained_on=trained_on)
    batches.batch_size = at_once(images, experiment.device)
    with torch.inference_mode(), experiment.backend.autocast(experiment.device):
        return np.concatenate([body(batch.x).float().cpu().numpy() for batch in batches.epoch(0)])


def at_once(images: Images, device: str) -> int:
    """Images of a batch: a power of 2, by their size alone, so that rows do not depend on where a pass began."""
    if device != "cpu":
        return BATCH
    height, width = images.pixels.shape[2:]
    return max(8, min(BATCH, 2 ** int(math.log2(max(1, PIXELS // (height * width))))))


def backbone_mark(experiment: Experiment, body: nn.Module) -> str:
    """A digest of what decides features besides the images: weights, structure, input size, normalisation."""
    found = sha256(repr((feature_cache.FORMAT, torch.__version__, experiment.device.partition(":")[0])).encode())
    if (few := at_once(experiment.data.train, experiment.device)) != BATCH:
        found.update(repr(few).encode())
    if experiment.backend.precision != "auto":
        found.update(experiment.backend.precision.encode())
    found.update(repr((str(body), experiment.source.name, experiment.source.sha256)).encode())
    found.update(repr(normalisation(experiment.data.train, experiment.recipe.normalise)).encode())
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


def without_head(model: nn.Module) -> nn.Module:
    """The model up to its head; the model is used up."""
    freezing.set_module(model, freezing.head_name(model), nn.Identity())
    return model.eval()


def _ends_in_its_head(experiment: Experiment) -> bool:
    """True if the model's output is its head's, on one row of features per image: not where layers follow the head."""
    model = experiment.model().eval()
    few = experiment.data.train.subset(slice(0, 2))
    x = next(iter(experiment.batches(few, model).epoch(0))).x
    with torch.inference_mode():
        whole, end = model(x), freezing.head(model)
        features = without_head(model)(x)
        if features.ndim != 2:
            return False
        return bool(torch.allclose(end(features), whole, atol=1e-5))
