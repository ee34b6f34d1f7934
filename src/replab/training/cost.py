"""What a run will cost, measured on a few real steps before it starts: seconds and memory."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass, replace
from time import perf_counter

from replab.errors import ModelError
from replab.models.adapt import freezing
from replab.records.text import duration
from replab.search.search import distributions, split_for_search, wanted_trials
from replab.settings.rules import FITTED_HEADS
from replab.training import features
from replab.training.evaluate import evaluate, to_backend
from replab.training.experiment import Setup
from replab.training.loop import optimizers, train_step, training_batches, watching_batches

PASSES = 300  # forward and backward, until logistic regression has converged


@dataclass(frozen=True)
class Cost:
    step_seconds: float  # one training batch
    image_seconds: float  # one image at inference
    epoch_seconds: float  # all training images, and the test images looked at after them
    trial_epoch_seconds: float
    search_seconds: float  # at most: every trial to its last epoch
    train_seconds: float | None  # None: the epochs are not known yet
    memory_bytes: int  # peak of the process so far, this batch included
    feature_seconds: float = 0.0  # one pass of a frozen backbone over all images

    def sentences(self, setup: Setup) -> str:
        """One line for before the start."""
        recipe = setup.recipe
        parts = [
            f"{self.step_seconds * 1e3:.1f} ms a batch of {recipe.batch_size}, {duration(self.epoch_seconds)} an epoch"
        ]
        if self.feature_seconds:
            images = len(setup.data.train) + len(setup.data.test)
            each = f"{self.feature_seconds / images * 1e3:.2g} ms each"
            once = f"features of {images:,} images, one pass, {each}, {duration(self.feature_seconds)} unless cached"
            parts = [once] if recipe.head in FITTED_HEADS else [once, *(f"head alone {part}" for part in parts)]
        if self.search_seconds:
            trials = wanted_trials(recipe)
            epochs = recipe.epochs or recipe.search.max_epochs
            parts.append(f"search at most {duration(self.search_seconds)} ({trials} trials, up to {epochs} epochs)")
        if self.train_seconds is not None:
            parts.append(f"training {duration(self.train_seconds)} ({recipe.epochs} epochs)")
        else:
            parts.append(f"training at most {duration(self.epoch_seconds * recipe.search.max_epochs)}")
        return "cost: " + "; ".join(parts) + f"; memory {self.memory_bytes / 2**20:,.0f} MiB (measured on a batch)"


def measure(setup: Setup, steps: int = 3) -> Cost:
    """Time a few training steps and one evaluation batch on a model that is thrown away."""
    if features.applies(setup):
        head, an_image = features.blank(setup)
        found = fitted(head) if setup.recipe.head in FITTED_HEADS else measure(head)
        return replace(found, feature_seconds=an_image * (len(setup.data.train) + len(setup.data.test)))
    if setup.recipe.head in FITTED_HEADS:
        raise ModelError(f"{setup.source.name} has layers after its head; --head {setup.recipe.head} needs it last")
    recipe = setup.recipe.replace(lr=setup.recipe.lr or 1e-4, epochs=1)
    model = setup.fresh_model()
    opts = optimizers(setup.task, model, recipe, setup.backend)
    few = setup.data.train.subset(slice(0, (steps + 1) * recipe.batch_size))
    batches = training_batches(model, recipe, few, setup.device)
    freezing.train_mode(model)
    seconds = []
    for index, batch in enumerate(batches.epoch(1)):
        started = perf_counter()
        try:
            train_step(
                model, setup.task, to_backend(batch, setup.backend), opts, recipe, index, steps + 1,
                setup.backend, setup.device,
            )  # fmt: skip
        except Exception as error:
            text = " ".join(str(error).split())[:200]
            raise ModelError(f"{setup.source.name} fails in training ({type(error).__name__}: {text})") from error
        seconds.append(perf_counter() - started)
    step = min(seconds[1:] or seconds)  # the first one warms up
    some = setup.data.train.subset(slice(0, 512))
    image = evaluate(
        model,
        setup.task,
        watching_batches(model, recipe, some, some, setup.device),
        setup.backend,
        setup.device,
    ).seconds / len(some)

    def epoch(images: int, looked_at: int) -> float:
        return step * max(1, round(images / recipe.batch_size)) + image * looked_at

    full = epoch(len(setup.data.train), len(setup.data.test))
    trial_epoch = search_seconds = 0.0
    if searches(setup):
        part, validation = split_for_search(setup.data.train, recipe.search, recipe.seed)
        trial_epoch = epoch(len(part), len(validation))
        search_seconds = wanted_trials(setup.recipe) * (setup.recipe.epochs or recipe.search.max_epochs) * trial_epoch
    train = None if setup.recipe.epochs is None else setup.recipe.epochs * full
    return Cost(step, image, full, trial_epoch, search_seconds, train, peak_memory(setup.device))


def fitted(head: Setup) -> Cost:
    """Of a head fitted at once: as many passes over all rows as logistic regression may want, or one look at them."""
    train, test = head.data.train, head.data.test
    some = train.subset(slice(0, 512))
    model = head.fresh_model()
    batches = watching_batches(model, head.recipe, some, some, head.device)
    image = evaluate(model, head.task, batches, head.backend, head.device).seconds / len(some)
    passes = PASSES if head.recipe.head == "logistic" else 0
    whole = image * (passes * len(train) + len(test))
    trials = wanted_trials(head.recipe) if searches(head) else 0
    part, validation = split_for_search(train, head.recipe.search, head.recipe.seed)
    trial = image * (passes * len(part) + len(validation))
    return Cost(whole, image, whole, trial, trials * trial, whole, peak_memory(head.device))


def searches(setup: Setup) -> bool:
    """Whether anything is left open for a search to find."""
    recipe = setup.recipe
    return setup.task.objective is not None and bool(distributions(recipe) or recipe.epochs is None)


def peak_memory(device: str) -> int:
    """Bytes: of the GPU where the model is on one, else of the process."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.max_memory_allocated()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
