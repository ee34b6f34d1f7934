"""From a recipe to an Experiment: images loaded, model found and tried on a batch, task and device picked.

All that cannot work is refused here, before a folder is made. Nothing is written.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from replab import tasks
from replab.backends import backend as backends
from replab.backends import own_parts
from replab.data.augment.automatic import suited, without_shifts
from replab.data.augment.steps import Step, check_fits, mixes_labels, parse
from replab.data.augmented_copy import with_augmented_copy
from replab.data.images import Dataset, Images, ImageSpec
from replab.data.load import load
from replab.errors import DataError, ModelError, RecipeError, ReplabError, RunError
from replab.models import loader
from replab.models.adapt import heads
from replab.models.pretrained import backbones, weights
from replab.models.trust import Trust, allowed, allowed_parts
from replab.records.record import Record
from replab.settings.length import UNSHIFTED, epochs_for
from replab.settings.own_parts import without_own_parts
from replab.settings.recipe import Recipe
from replab.settings.rules import AUTO, STRONG
from replab.settings.searched import check_space
from replab.training import features
from replab.training.evaluate import to_backend
from replab.training.experiment import Experiment, prefers_channels_last
from replab.training.resizing import resized
from replab.training.try_parts import try_parts

MOST_THREADS = 1024


def prepare(
    recipe: Recipe,
    model: str | Callable[..., Any] | None = None,
    data: Dataset | None = None,
    parts: Mapping[str, Any] | None = None,
    *,
    reopened: bool = False,
    trust: Trust = False,
    weights_sha256: str = "",
) -> Experiment:
    """Everything a run needs, checked. `data`: the images themselves, where the recipe cannot load them by name.

    `parts`: own parts of the recipe by name, as functions or as the files to take them from. `reopened`: of a run that
    is there, made when rules may have been fewer. `trust`: whether published weights are taken whose whole SHA-256 is
    not known. `weights_sha256`: that of the file which the process has that shares its work.
    """
    recipe = heads.settle(recipe)
    backend = backends.get(recipe.backend, recipe.precision)
    device = backends.pick_device(recipe.device, recipe.backend)
    source = loader.find(model if model is not None else recipe.model, backend)
    if recipe.pretrained:  # asked before the images are read, downloaded when all else is right
        weights_sha256 = weights_sha256 or backbones.accepted(source.name, trust)
    own = own_parts.load(recipe, backend, parts or {})
    data = images_of(recipe) if data is None else data
    task = tasks.make(recipe, data.spec, backend.lib, source.function, own)
    suits = recipe.augment in (AUTO, STRONG)
    recipe = by_rule(recipe, data, task)
    tried = ",".join((*recipe.search.space.get("augment", ()), recipe.augmented_copy))
    steps = parse((*recipe.augment, *tried.split(",")), own)
    if not reopened:
        check_fits(steps, data.spec.height, data.spec.width)
    _check_compiler(recipe)
    _check_labels(recipe, task, data, steps)
    try_parts(recipe, own, data, task, backend)
    check_space(recipe, loader.parameters(source))
    initial = None
    if recipe.pretrained or recipe.weights:
        initial = weights.read(recipe.weights or backbones.fetched(source.name, weights_sha256))
        if recipe.normalise == "backbone" and initial.normalise:
            recipe = recipe.replace(normalise=initial.normalise)
    experiment = Experiment(recipe, data, source, backend, device, task, initial=initial, own=own)
    return _tried(experiment, augmented_by_rule=suits)


def by_rule(recipe: Recipe, data: Dataset, task: Any) -> Recipe:
    """The recipe with what its protocol leaves to the images: epochs by their number, augmentation by their kind."""
    changes: dict[str, Any] = {}
    space = dict(recipe.search.space)
    learns = task.name == "classify" and not recipe.freeze  # features of a frozen backbone are kept: no changed images
    if recipe.augment in (AUTO, STRONG):
        changes["augment"] = suited(recipe.augment, recipe.data, data.spec) if learns else ()
    if "augment" in space:
        each = [recipe.replace(augment=words).augment for words in space.pop("augment")]
        suiting = dict.fromkeys(",".join(suited(words, recipe.data, data.spec)) for words in each)
        space |= {"augment": list(suiting)} if learns else {}
    if task.objective is None or recipe.budget is not None:
        space.pop("epochs_at_10k", None)
    changes["search"] = {"space": space}
    if task.objective is None:  # two adversaries: a protocol's schedule and search are for a loss that falls
        changes |= {"epochs_at_10k": None, "search": {"method": "tpe", "space": space}}
        if recipe.schedule == Recipe.of_protocol(recipe.protocol).schedule:
            changes["schedule"] = "constant"
    elif recipe.epochs is None and recipe.epochs_at_10k is not None:
        changes["epochs"] = epochs_for(len(data.train), recipe.epochs_at_10k)
    return recipe.replace(**changes)


def images_of(recipe: Recipe) -> Dataset:
    data = load(
        recipe.data, size=recipe.size, seed=recipe.seed, limit=recipe.limit, classes=recipe.classes,
        per_class=recipe.per_class, fit=recipe.fit, skip_broken=recipe.skip_broken,
    )  # fmt: skip
    return with_copy(data, recipe.augmented_copy, recipe.seed) if recipe.augmented_copy else data


def with_copy(data: Dataset, augment: str, seed: int) -> Dataset:
    """The training images and a fixed augmented copy of each: other images, so another fingerprint."""
    mark = sha256(f"{data.fingerprint} augmented copy {augment} seed {seed}".encode()).hexdigest()
    return replace(data, train=with_augmented_copy(data.train, augment, seed), fingerprint=mark)


def _check_compiler(recipe: Recipe) -> None:
    if recipe.compile and not any(map(shutil.which, ("c++", "g++", "clang++", "cl"))):
        raise RecipeError("--compile needs a C++ compiler, and there is none on the PATH; leave it out")


def _check_labels(recipe: Recipe, task: Any, data: Dataset, steps: Sequence[Step]) -> None:
    if task.needs_labels and data.train.labels is None:
        raise DataError(
            f"{recipe.data} has no class folders, and {task.name} needs labels; use CLASS/image.png folders"
        )
    for flag, wanted in (
        ("--tta", recipe.tta != "none"),
        ("--whiten", recipe.whiten is not None),
        ("--compile", recipe.compile),
        ("--progressive-resize", recipe.progressive_resize is not None),
    ):
        if wanted and task.name != "classify":
            raise RecipeError(
                f"{flag} is for classifiers, got {recipe.model}, which learns to {task.name}; leave it out"
            )
    if not task.mixes_labels and mixes_labels(steps):
        raise RecipeError(
            f"mixup and cutmix mix labels, which {task.name} does not learn from, got --augment"
            f" {','.join(recipe.augment)}; leave them out"
        )


def _tried(experiment: Experiment, augmented_by_rule: bool) -> Experiment:
    """The experiment after one batch through its model, with what task and model leave no choice about settled."""
    model, summary = experiment.begin(experiment.recipe)
    recipe = experiment.task.settle(experiment.recipe, model)
    if augmented_by_rule and takes_all_pixels(model, experiment.data.spec):
        recipe = unshifted(recipe, len(experiment.data.train))
    experiment = replace(experiment, recipe=recipe, weights_summary=summary)
    try:
        _try_on_a_batch(experiment, model)
    except ModelError:
        if not prefers_channels_last(model):
            raise
        experiment = replace(experiment, channels_last=False)
        model = experiment.model()
        _try_on_a_batch(experiment, model)
    _try_smaller(experiment, model)
    experiment = features.frozen(experiment)
    experiment.tried.append(model)
    return experiment


def takes_all_pixels(model: Any, image: ImageSpec) -> bool:
    """Whether the first layer with weights multiplies the whole image, as an MLP's: shifts cost it accuracy."""
    first = next((module for module in model.modules() if getattr(module, "weight", None) is not None), None)
    return getattr(first, "in_features", None) == image.channels * image.height * image.width


def unshifted(recipe: Recipe, images: int) -> Recipe:
    """By rule without shifts, and then for fewer epochs: what is seen unchanged is sooner learned by heart."""
    changes: dict[str, Any] = {"augment": without_shifts(recipe.augment)}
    if recipe.epochs_at_10k is not None:
        fewer = UNSHIFTED * recipe.epochs_at_10k
        changes |= {"epochs_at_10k": fewer, "epochs": epochs_for(images, fewer)}
    return recipe.replace(**changes)


def _try_on_a_batch(experiment: Experiment, model: Any) -> None:
    """One batch through the model in eval mode: a shape that does not fit is found now."""
    name, data = experiment.source.name, experiment.data
    if experiment.recipe.head != "knn" and not all(experiment.task.parts(model).values()):
        raise ModelError(f"{name} has no parameters to train; a module with at least one layer is needed")
    if experiment.recipe.accumulate > 1 and len(experiment.task.parts(model)) > 1:
        raise RecipeError(
            f"--accumulate is for a model with one optimizer, and {name} has {len(experiment.task.parts(model))};"
            " leave it out"
        )
    images = data.train.subset(slice(0, min(4, len(data.train))))
    batch = next(iter(experiment.batches(images, model, shuffled=True).epoch(1)))
    batch = to_backend(batch, experiment.backend)
    model.eval()
    try:
        with experiment.backend.lib.no_grad():
            output = model(batch.x)
    except ReplabError:
        raise
    except (Exception, SystemExit) as error:
        text = " ".join(str(error).split())[:200]
        way_out = _other_channels(experiment, model, batch.x, text) or "--size resizes"
        raise ModelError(
            f"{name} does not take images of {data.spec}; {way_out} ({type(error).__name__}: {text})"
        ) from error
    experiment.task.check_output(name, output, batch, data.spec)


def _try_smaller(experiment: Experiment, model: Any) -> None:
    """The smallest images of progressive resizing through the model, where they are wanted."""
    recipe = experiment.recipe.replace(epochs=2)
    if recipe.progressive_resize is None:
        return
    images = experiment.data.train.subset(slice(0, min(4, len(experiment.data.train))))
    small = resized(next(iter(experiment.batches(images, model).epoch(1))), recipe, 1)
    try:
        with experiment.backend.lib.no_grad():
            model(small.x)
    except Exception:
        sides = "x".join(map(str, small.x.shape[2:]))
        raise RecipeError(
            f"--progressive-resize needs a model for images of any size, got {experiment.source.name}, which does not"
            f" take {sides}; leave it out"
        ) from None


def _other_channels(experiment: Experiment, model: Any, x: Any, text: str) -> str:
    """The way out where a model made for colour is given gray images, or the other way round; else nothing."""
    channels = experiment.data.spec.channels
    other = 1 if channels == 3 else 3
    fits = f"to have {other} channels, but got {channels} channels" in text  # a convolution's words
    if not fits:
        with contextlib.suppress(Exception, SystemExit), experiment.backend.lib.no_grad():
            fits = model(x[:, :1] if other == 1 else experiment.backend.lib.cat([x, x, x], 1)) is not None
    if not fits:
        return ""
    kind = {1: "gray", 3: "colour"}
    return (
        f"it is made for {kind[other]} images, and these are {kind[channels]}; a function of (image) that builds the"
        " first layer for image.channels takes both"
    )


def reopen(
    record: Record,
    model: str | Callable[..., Any] | None = None,
    trust: Trust = False,
    notice: Callable[[str], None] = lambda text: None,
    data: Dataset | None = None,
    parts: Mapping[str, Any] | None = None,
    training: bool = True,
) -> Experiment:
    """The experiment a run was made with. Code that the run names is imported only if this user named or trusted it.

    Not for `training`, its own loss, optimizer, schedule, augmentations and metrics are left out: nothing needs them.
    """
    import torch

    threads = record.read_json("environment.json", {}).get("threads")
    if threads:
        if threads > MOST_THREADS:
            raise RunError(f"run {record.id}: environment.json says {threads:,} threads; no machine has as many")
        torch.set_num_threads(threads)  # sums in another order round otherwise
    seen = record.read_json("input.json", {})
    recipe = record.recipe()
    if record.has("model.safetensors"):  # trained: what it began with is not needed again
        recipe = recipe.replace(pretrained=False, weights="")
    recipe = recipe if training else without_own_parts(recipe).replace(metric=())
    named = allowed(recipe.model, record, trust, notice) if model is None else model
    own = {**allowed_parts(recipe, record, trust, notice, parts or {}), **(parts or {})}
    experiment = prepare(recipe, named, data, own, reopened=True, trust=trust)
    initial = experiment.initial
    if initial is not None and seen.get("weights_sha256") not in (None, initial.sha256):
        raise RunError(f"{initial.origin} is not the file run {record.id} began with; start a new run")
    return experiment


def restore(record: Record, model: str | Callable[..., Any] | None = None, trust: Trust = False) -> Experiment:
    """The experiment of a trained run without its images: all that using the model needs is in the folder."""
    return reopen(record, model, trust, data=_blank(record), training=False)


def _blank(record: Record) -> Dataset:
    """As many images as the run had, of its shape and classes, all black; they take no memory."""
    known = record.read_json("input.json", {})
    if not record.has("model.safetensors") or not known:
        raise RunError(f"run {record.id} has no trained model yet; replab resume {record.id} finishes it")
    classes, shape = tuple(known["classes"]), (known["channels"], known["height"], known["width"])
    mean, std = (tuple(known.get(key) or ()) for key in ("mean", "std"))

    def images(count: int) -> Images:
        pixels = np.broadcast_to(np.zeros((1, *shape), np.uint8), (count, *shape))
        labels = np.broadcast_to(np.zeros(1, np.int64), (count,)) if classes else None
        return Images(pixels, labels, classes, mean, std)

    return Dataset(known["data"], images(known["train_images"]), images(known["test_images"]), known["fingerprint"])
