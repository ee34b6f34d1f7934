"""fit(): the only training loop. A generator of one row an epoch; whoever takes the rows decides when to stop."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any

import numpy as np

from replab.backends.backend import Backend, array
from replab.data.batches import Batches
from replab.data.features import FeatureBatches, Features
from replab.data.images import Images
from replab.data.normalise import normalisation
from replab.errors import ReplabError
from replab.models.adapt import freezing
from replab.records.progress import Progress
from replab.settings.recipe import Recipe, derive_seed
from replab.training import schedules as schedule
from replab.training.evaluate import evaluate, to_backend
from replab.training.optimizers import make

Row = dict[str, float]  # numbers that must repeat
Times = dict[str, float]  # seconds and counts that will not


class Diverged(ReplabError):
    """The loss is no longer a number."""


def optimizers(task: Any, model: Any, recipe: Recipe, backend: Backend) -> dict[str, Any]:
    """One a part of the task; a classifier has one part, a GAN two."""
    lr = recipe.lr
    assert lr is not None
    if hasattr(model, "fit_once"):
        return {}

    def groups(params: list[Any]) -> list[Any]:
        found = freezing.rate_groups(model, params, lr, recipe.lr_backbone) if backend.name == "torch" else None
        return found or params

    made = {
        part: make(
            recipe.optimizer,
            backend,
            groups(params),
            lr=lr,
            weight_decay=recipe.weight_decay,
            momentum=recipe.momentum,
        )
        for part, params in task.parts(model).items()
    }
    for group in (group for optimizer in made.values() for group in optimizer.param_groups):
        if "betas" in group and task.betas is not None:  # a GAN's Adam forgets faster
            group["betas"] = task.betas
    return made


def fit(
    model: Any,
    task: Any,
    recipe: Recipe,
    train: Images,
    optimizers: Mapping[str, Any],
    *,
    backend: Backend,
    device: str,
    watch: Mapping[str, Images] | None = None,  # looked at after each epoch, never learned from
    first_epoch: int = 1,
    progress: Progress,
) -> Iterator[tuple[Row, Times]]:
    """Train for recipe.epochs. Model and optimisers are as after the row's epoch whenever a row is out.

    Each epoch's batches and dropout are seeded by (seed, epoch) alone, so resuming needs no generator's state.
    """
    assert recipe.lr is not None
    assert recipe.epochs is not None
    batches = training_batches(model, recipe, train, device)
    watched = {name: watching_batches(model, recipe, train, images, device) for name, images in (watch or {}).items()}
    total = recipe.epochs * len(batches)
    for epoch in progress.epochs(range(first_epoch, recipe.epochs + 1), recipe.epochs):
        backend.lib.manual_seed(derive_seed(recipe.seed, 1, epoch))
        if recipe.unfreeze_every is not None:
            freezing.open_stages(model, (epoch - 1) // recipe.unfreeze_every)
        freezing.train_mode(model)
        started, kept, sizes = perf_counter(), [], []
        at_once = hasattr(model, "fit_once")  # a head that takes all rows together instead of steps
        if at_once:
            kept.append(model.fit_once(train.pixels, train.labels, task, recipe))
            sizes.append(len(train))
        for index, batch in enumerate(() if at_once else progress.batches(batches.epoch(epoch), len(batches))):
            step = (epoch - 1) * len(batches) + index
            logs = train_step(model, task, to_backend(batch, backend), optimizers, recipe, step, total, backend, device)
            kept.append(logs)
            sizes.append(len(batch.index))
        row = {
            "epoch": float(epoch),
            "lr": schedule.rate(recipe.schedule, epoch * len(batches) - 1, total, recipe.lr),
        }
        row |= averages(kept, sizes, "train_")
        times = {"train_seconds": perf_counter() - started, "images": float(sum(sizes))}
        if not all(map(math.isfinite, row.values())):
            raise Diverged(
                f"training diverged in epoch {epoch}: the loss is not a number; try a smaller --lr or --clip-norm 1"
            )
        for name, images in watched.items():
            seen = evaluate(model, task, images, backend, device)
            row |= {f"{name}_{key}": value for key, value in seen.metrics.items()}
            times[f"{name}_seconds"] = seen.seconds
        progress.note(row)
        yield row, times


def train_step(
    model: Any,
    task: Any,
    batch: Any,
    optimizers: Mapping[str, Any],
    recipe: Recipe,
    step: int,
    total: int,
    backend: Backend,
    device: str,
) -> dict[str, Any]:
    """One batch: for each loss the task yields, zero_grad, backward into that part only, clip, step."""
    seen: dict[str, Any] = {}
    with backend.autocast(device):
        for part, losses, logs in task.losses(model, batch):
            optimizer = optimizers[part]
            set_rate(optimizer, recipe, step, total)
            params = [p for group in optimizer.param_groups for p in group["params"]]
            optimizer.zero_grad()
            loss = losses.mean()  # the one place that reduces: tasks give a loss a sample
            if len(optimizers) == 1:
                loss.backward()
            else:
                loss.backward(inputs=params)
            if recipe.clip_value is not None:
                backend.lib.nn.utils.clip_grad_value_(params, recipe.clip_value)
            if recipe.clip_norm is not None:
                backend.lib.nn.utils.clip_grad_norm_(params, recipe.clip_norm)
            optimizer.step()
            seen |= {name: value.detach() for name, value in logs.items()}
    return seen


def set_rate(optimizer: Any, recipe: Recipe, step: int, total: int) -> None:
    if recipe.schedule == "constant":
        return
    assert recipe.lr is not None
    momentum = schedule.momentum(recipe.schedule, step, total)
    for group in optimizer.param_groups:
        group["lr"] = schedule.rate(recipe.schedule, step, total, recipe.lr) * group.get("share", 1.0)
        if momentum is not None and "betas" in group:
            group["betas"] = (momentum, group["betas"][1])
        elif momentum is not None and group.get("momentum"):
            group["momentum"] = momentum


def averages(kept: list[dict[str, Any]], sizes: list[int], prefix: str) -> Row:
    """Means over the epoch's images. Tensors become numbers only here: no waiting for a GPU at every step."""
    weights = np.array(sizes) / sum(sizes)
    return {
        prefix + name: float(np.dot(weights, [float(array(logs[name]).mean(dtype=np.float64)) for logs in kept]))
        for name in kept[0]
    }


def training_batches(model: Any, recipe: Recipe, train: Images, device: str) -> Batches:
    if isinstance(train, Features):
        return FeatureBatches(train, recipe.batch_size, seed=recipe.seed, shuffle=True, device=device)
    return Batches(
        train,
        recipe.batch_size,
        seed=recipe.seed,
        shuffle=True,
        normalise=normalisation(train, recipe.normalise),
        augment=recipe.augment,
        device=device,
        channels_last=prefers_channels_last(model),
    )


def watching_batches(model: Any, recipe: Recipe, train: Images, images: Images, device: str) -> Batches:
    """Images in order and as they are, normalised as the training images are."""
    if isinstance(images, Features):
        return FeatureBatches(images, max(recipe.batch_size, 128), device=device)
    return Batches(
        images,
        max(recipe.batch_size, 128),
        normalise=normalisation(train, recipe.normalise),
        device=device,
        channels_last=prefers_channels_last(model),
    )


def prefers_channels_last(model: Any) -> bool:
    """True for torch models that convolve: their kernels are faster with channels innermost, on CPUs and GPUs alike."""
    import torch

    return getattr(model, "takes_channels_last", True) and any(
        isinstance(m, torch.nn.Conv2d) and max(m.kernel_size) > 1 and m.stride == (1, 1) for m in model.modules()
    )
