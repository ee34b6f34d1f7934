"""fit(): the only training loop. A generator of one row per epoch; whoever takes the rows decides when to stop."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from replab import interruption
from replab.backends.backend import Backend, array
from replab.backends.own_parts import Parts
from replab.data.batches import Batches
from replab.data.images import Images
from replab.errors import ReplabError
from replab.models.adapt import freezing
from replab.records.events import Events
from replab.settings.choices import schedule
from replab.settings.recipe import Recipe, derive_seed
from replab.training import schedules
from replab.training.ddp.team import Team
from replab.training.evaluate import to_backend
from replab.training.resizing import resized
from replab.training.state import State

Row = dict[str, float]  # numbers that must repeat
Times = dict[str, float]  # seconds and counts that will not


class Diverged(ReplabError):
    """The loss is no longer a number."""


class Learner(Protocol):
    """What the loop needs of an Experiment."""

    @property
    def task(self) -> Any: ...
    @property
    def backend(self) -> Backend: ...
    @property
    def device(self) -> str: ...
    @property
    def own(self) -> Parts: ...
    @property
    def team(self) -> Team: ...
    def batches(
        self, images: Images, model: Any, recipe: Recipe, *, trained_on: Images | None = ..., shuffled: bool = ...
    ) -> Batches: ...


def fit(
    learner: Learner,
    state: State,
    recipe: Recipe,
    train: Images,
    *,
    watch: Mapping[str, Images],  # evaluated after each epoch, never learned from
    first_epoch: int = 1,
    events: Events,
) -> Iterator[tuple[Row, Times]]:
    """Train for recipe.epochs, or the first stop_after of them. While a row is out, the model is as after it.

    Each epoch's batches and dropout are seeded by (seed, epoch) alone, so resuming needs no generator's state.
    """
    assert recipe.lr is not None
    assert recipe.epochs is not None
    model, team = state.model, learner.team
    batches = team.share(learner.batches(train, model, recipe, shuffled=True))
    watched = watching(learner, model, recipe, train, watch)
    total = recipe.epochs * len(batches)
    last = recipe.last_epoch or recipe.epochs
    with events.span("train", last, first_epoch - 1):
        for epoch in range(first_epoch, last + 1):
            learner.backend.lib.manual_seed(derive_seed(recipe.seed, 1, epoch, *team.place))
            if recipe.unfreeze_every is not None:
                freezing.open_stages(model, (epoch - 1) // recipe.unfreeze_every)
            freezing.train_mode(model)
            started, done = perf_counter(), state.begin_epoch(epoch)
            with interruption.in_steps():
                for index, batch in enumerate(events.each(batches.epoch(epoch), "epoch", len(batches))):
                    if index < done:  # before an interruption; drawing it has moved the batches' generator on
                        continue
                    step = (epoch - 1) * len(batches) + index
                    batch = resized(batch, recipe, epoch)
                    log = train_step(learner, model, batch, state.optimizers, recipe, step, total)
                    state.after_step(step, total, log, team.images(batch))
            logs, sizes = state.end_epoch()
            rate = learner.own.choose(schedule, recipe.schedule)(epoch * len(batches) - 1, total, recipe.lr)
            row = {
                "epoch": float(epoch),
                "lr": float(rate),
                **team.mean(averages(logs, sizes, "train_"), sum(sizes)),
            }
            times = {"train_seconds": perf_counter() - started, "images": float(sum(sizes[done:]) * team.size)}
            check_finite(row, epoch)
            look(learner, model, watched, row, times)
            yield row, times


def train_step(
    learner: Learner,
    model: Any,
    batch: Any,
    optimizers: Mapping[str, Any],
    recipe: Recipe,
    step: int,
    total: int,
) -> dict[str, Any]:
    """One batch: for each loss the task yields, zero_grad, backward into that part only, clip, step.

    With recipe.accumulate, a batch goes through the model in so many pieces, whose gradients are added up.
    """
    backend = learner.backend
    pieces = [batch] if recipe.accumulate == 1 else sliced(batch, min(recipe.accumulate, learner.team.pieces(batch)))
    seen: dict[str, list[Any]] = {}
    with backend.autocast(learner.device):
        for place, piece in enumerate(pieces, 1):
            for part, losses, logs in learner.team.losses(learner.task, model, to_backend(piece, backend), batch):
                optimizer = optimizers[part]
                params = [p for group in optimizer.param_groups for p in group["params"]]
                if place == 1:
                    set_rate(optimizer, recipe, step, total, learner.own)
                    optimizer.zero_grad()
                # the one place that reduces: tasks give one loss per sample
                loss = losses.mean() if len(pieces) == 1 else losses.sum() / len(batch.index)
                if len(optimizers) == 1:
                    loss.backward()
                else:
                    loss.backward(inputs=params)
                for name, value in logs.items():
                    seen[name] = [*(seen[name] if place > 1 else ()), value.detach()]
                if place < len(pieces):
                    continue
                if recipe.clip_value is not None:
                    backend.lib.nn.utils.clip_grad_value_(params, recipe.clip_value)
                if recipe.clip_norm is not None:
                    backend.lib.nn.utils.clip_grad_norm_(params, recipe.clip_norm)
                optimizer.step()
    return {name: values[0] if len(values) == 1 else backend.lib.cat(values) for name, values in seen.items()}


def sliced(batch: Any, count: int) -> list[Any]:
    """A batch as `count` smaller ones, as equal as can be."""
    ends = np.linspace(0, len(batch.index), count + 1).round().astype(int)
    return [
        batch._replace(**{key: value[a:b] for key, value in batch._asdict().items() if value is not None})
        for a, b in pairwise(ends)
    ]


def set_rate(optimizer: Any, recipe: Recipe, step: int, total: int, own: Parts | None = None) -> None:
    if recipe.schedule == "constant":
        return
    assert recipe.lr is not None
    assert recipe.epochs is not None
    chosen = (own or Parts()).choose(schedule, recipe.schedule)
    momentum = schedules.momentum(chosen, step, total)
    for group in optimizer.param_groups:
        whole = total * min(group.get("epochs", recipe.epochs), recipe.epochs) // recipe.epochs
        rate = float(chosen(step, whole, recipe.lr)) if step < whole else 0.0
        group["lr"] = rate * group.get("share", 1.0)
        if momentum is not None and "betas" in group:
            group["betas"] = (momentum, group["betas"][1])
        elif momentum is not None and group.get("momentum"):
            group["momentum"] = momentum


def averages(logs: list[dict[str, Any]], sizes: Sequence[float], prefix: str) -> Row:
    """Means over the epoch's images. Tensors become numbers only here: no waiting for a GPU at every step."""
    weights = np.array(sizes) / sum(sizes)
    return {
        prefix + name: float(np.dot(weights, [float(array(entry[name]).mean(dtype=np.float64)) for entry in logs]))
        for name in logs[0]
    }


def check_finite(row: Row, epoch: int) -> None:
    if not all(map(math.isfinite, row.values())):
        raise Diverged(
            f"training diverged in epoch {epoch}: the loss is not a number; try a smaller --lr or --clip-norm 1"
        )


def watching(
    learner: Learner, model: Any, recipe: Recipe, train: Images, watch: Mapping[str, Images]
) -> dict[str, Batches]:
    """The batches of the images that are watched, made once for all epochs."""
    return {name: learner.batches(images, model, recipe, trained_on=train) for name, images in watch.items()}


def look(learner: Learner, model: Any, watched: Mapping[str, Batches], row: Row, times: Times) -> None:
    """Add to an epoch's row what the model does on the images that are watched."""
    for name, batches in watched.items():
        seen = learner.team.evaluate(model, learner.task, batches, learner.backend, learner.device)
        row |= {f"{name}_{key}": value for key, value in seen.metrics.items()}
        times[f"{name}_seconds"] = seen.seconds
