"""What a run will cost, measured on a few real steps before it starts: seconds and memory."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from replab.backends.backend import threads
from replab.data.images import Dataset
from replab.data.mapped import Mapped
from replab.data.split import split_for_search, split_sizes
from replab.errors import ModelError
from replab.models.adapt import freezing
from replab.settings.recipe import Recipe
from replab.settings.searched import planned, searched, stretched, wanted_trials, wants_range_test
from replab.settings.words import count, duration, size
from replab.training import loop
from replab.training.experiment import Experiment
from replab.training.lr_find import test_steps

PASSES = 300  # forward and backward, until logistic regression has converged
STEPS = 3  # timed at most, after one that warms up
PATIENCE = 2.0  # seconds of timed steps are enough: slow ones vary little


@dataclass(frozen=True)
class Cost:
    step_seconds: float  # one training batch
    image_seconds: float  # one image at inference
    epoch_seconds: float  # all training images, and the test images where they are evaluated after them
    trial_epoch_seconds: float
    search_seconds: float  # at most: every trial to its last epoch
    train_seconds: float | None  # None: the epochs are not known yet
    memory_bytes: int  # peak of the process so far, this batch included
    feature_seconds: float = 0.0  # one pass of a frozen backbone over all images
    in_steps: bool = True  # False for a head fitted in closed form
    trial_step_seconds: float = 0.0  # one training batch on the threads of a trial
    trial_image_seconds: float = 0.0

    def estimate(self, recipe: Recipe, images: int, tested: int) -> tuple[float, float]:
        """Seconds of the search and of the training by another recipe of these images, each at most."""
        n, validation = split_sizes(images, recipe.search)
        trial = self.trial_step_seconds * steps_of(n - validation, recipe) + self.trial_image_seconds * validation
        epoch = self.step_seconds * steps_of(images, recipe) + self.image_seconds * tested * recipe.test_curve
        search = 0.0
        if searched(recipe) or recipe.epochs is None:
            search = trial * sum(trials * epochs for trials, epochs in planned(recipe))
            if wants_range_test(recipe):
                search += self.trial_step_seconds * test_steps((recipe.epochs or 1) * steps_of(images, recipe))
        return search, epoch * (stretched(recipe, recipe.last_epoch) if recipe.last_epoch else recipe.search.max_epochs)

    def of(self, experiment: Experiment) -> Cost:
        """With the seconds of the experiment's own recipe."""
        recipe = experiment.recipe
        search, training = self.estimate(recipe, len(experiment.data.train), len(experiment.data.test))
        return replace(
            self,
            search_seconds=search if searches(experiment) else 0.0,
            train_seconds=None if recipe.last_epoch is None else training,
        )

    def sentences(self, experiment: Experiment) -> str:
        """One line for before the start."""
        recipe, images = experiment.recipe, len(experiment.data.train) + len(experiment.data.test)
        step = f"{self.step_seconds * 1e3:.1f} ms per batch of {recipe.batch_size}"
        parts = [f"{step}, {duration(self.epoch_seconds)} per epoch"]
        if self.feature_seconds:
            each = f"{self.feature_seconds / images * 1e3:.2g} ms each"
            once = f"features of {images:,} images, one pass, {each}, {duration(self.feature_seconds)} unless cached"
            parts = [once, *(f"head alone {part}" for part in parts)] if self.in_steps else [once]
        if self.search_seconds:
            longest = max((epochs for _, epochs in planned(recipe)), default=0)
            trials = f"{count(wanted_trials(recipe), 'trial')}, up to {count(longest, 'epoch')}"
            trials = trials if longest else "a range test"
            parts.append(f"search at most {duration(self.search_seconds)} ({trials})")
        if self.train_seconds is not None:
            most = stretched(recipe, recipe.last_epoch or 0)
            at_most = "at most " if most != recipe.last_epoch else ""
            parts.append(f"training {at_most}{duration(self.train_seconds)} ({count(most, 'epoch')})")
        else:
            parts.append(f"training at most {duration(self.epoch_seconds * recipe.search.max_epochs)}")
        parts.append(f"memory {self.memory_bytes / 2**20:,.0f} MiB (measured on a batch)")
        return "cost: " + "; ".join([*parts, _where(experiment.data)])


def steps_of(images: int, recipe: Recipe) -> int:
    """Training steps of one epoch."""
    return max(1, round(images / recipe.batch_size))


def measure(experiment: Experiment) -> Cost:
    """Time what will be run, on a model that is thrown away."""
    timed, seconds_per_image = experiment.rehearsal()
    found = of_steps(timed) if timed.in_steps else of_closed_form(timed)
    images = len(experiment.data.train) + len(experiment.data.test)
    return replace(found, feature_seconds=seconds_per_image * images, in_steps=timed.in_steps)


def of_steps(experiment: Experiment) -> Cost:
    """A few training steps and one evaluation, on the threads of the training and on those of a trial."""
    asked, backend = experiment.recipe, experiment.backend
    recipe = asked.replace(lr=asked.lr or 1e-4, epochs=1, stop_after=None)
    model = experiment.spare_model()
    optimizers = experiment.optimizers(model, recipe)
    train, test = experiment.data.train, experiment.data.test
    step, image = _timed(experiment, model, optimizers, recipe)

    full = step * steps_of(len(train), recipe) + image * len(test) * asked.test_curve
    own, trial_epoch = (step, image), 0.0
    if searches(experiment):
        if asked.search.threads not in (0, backend.lib.get_num_threads()):
            with threads(backend, asked.search.threads):
                own = _timed(experiment, model, optimizers, recipe)
        n, validation = split_sizes(len(train), asked.search)
        trial_epoch = own[0] * steps_of(n - validation, recipe) + own[1] * validation
    found = Cost(step, image, full, trial_epoch, 0.0, None, peak_memory(experiment.device), 0.0, True, *own)
    return found.of(experiment)


def _timed(experiment: Experiment, model: Any, optimizers: dict[str, Any], recipe: Recipe) -> tuple[float, float]:
    """Seconds of one training step, and of one image at inference."""
    few = experiment.data.train.subset(slice(0, (STEPS + 1) * recipe.batch_size))
    freezing.train_mode(model)
    seconds, per_image = 0.0, list[float]()  # the last batch may be a small one
    for index, batch in enumerate(experiment.batches(few, model, recipe, shuffled=True).epoch(1)):
        started = perf_counter()
        try:
            loop.train_step(experiment, model, batch, optimizers, recipe, index, STEPS + 1)
        except (Exception, SystemExit) as error:
            text = " ".join(str(error).split())[:200]
            raise ModelError(f"{experiment.source.name} fails in training ({type(error).__name__}: {text})") from error
        per_image.append((perf_counter() - started) / len(batch.index))
        seconds += per_image[-1] * len(batch.index) if index else 0.0  # the first step warms up
        if seconds > PATIENCE:
            break
    step = min(per_image[1:] or per_image) * min(recipe.batch_size, len(few))
    return step, _seconds_per_image(experiment, model, recipe, 512 if step < PATIENCE / STEPS else recipe.batch_size)


def of_closed_form(head: Experiment) -> Cost:
    """As many passes over all rows as logistic regression may want, or one look at them."""
    train, test, recipe = head.data.train, head.data.test, head.recipe
    image = _seconds_per_image(head, head.model(), recipe)
    passes = PASSES if recipe.head == "logistic" else 0
    whole = image * (passes * len(train) + len(test))
    trials = wanted_trials(recipe) if searches(head) else 0
    part, validation = split_for_search(train, recipe.search, recipe.seed)
    trial = image * (passes * len(part) + len(validation))
    return Cost(whole, image, whole, trial, trials * trial, whole, peak_memory(head.device))


def _seconds_per_image(experiment: Experiment, model: Any, recipe: Recipe, images: int = 512) -> float:
    some = experiment.data.train.subset(slice(0, images))
    one_view = recipe.replace(tta="none")  # as after each epoch
    return experiment.evaluate(model, some, one_view, trained_on=some).seconds / len(some)


def _where(data: Dataset) -> str:
    """Which way images come into memory, as data/mapped.py decided."""
    total = size(data.train.pixels.nbytes + data.test.pixels.nbytes)
    if isinstance(data.train.pixels, Mapped):
        return f"{total} of images stay on disk and are read by batch"
    return f"{total} of images in memory"


def searches(experiment: Experiment) -> bool:
    """Whether anything is left open for a search to find."""
    recipe = experiment.recipe
    return experiment.task.objective is not None and bool(searched(recipe) or recipe.epochs is None)


def peak_memory(device: str) -> int:
    """Bytes: of the GPU where the model is on one, else of the process."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.max_memory_allocated()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
