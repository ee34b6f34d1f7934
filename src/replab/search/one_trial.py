"""One trial: a pure function of (recipe, number, parameters, the trials it is compared with)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from replab.errors import ModelError
from replab.records.events import Events
from replab.records.trial import Trial
from replab.search.engines.base import Job
from replab.search.stopping import Pruning
from replab.settings.recipe import Recipe
from replab.settings.searched import apply
from replab.training.loop import Diverged, Row

RunTrial = Callable[[Recipe, Events], Iterator[Row]]  # rows with a `val_loss`, one per epoch


class Trials:
    """Of a search, as jobs: wherever they run, they are made by these rows."""

    def __init__(self, recipe: Recipe, run_trial: RunTrial):
        self.recipe, self.run_trial = recipe, run_trial

    def do(self, job: Mapping[str, Any], events: Events) -> dict[str, Any]:
        found = one_trial(self.recipe, self.run_trial, Job.from_dict(job), events.inside(trial=job["number"]))
        return found.to_dict()

    def result(self, values: dict[str, Any]) -> Trial:
        return Trial(**values)


def one_trial(recipe: Recipe, run_trial: RunTrial, job: Job, events: Events) -> Trial:
    """Train with the job's parameters until patience, pruning, divergence or the last epoch ends it."""
    asked = apply(recipe, job.params)
    epochs = job.epochs or asked.epochs or recipe.search.max_epochs
    # a schedule runs its length: its loss falls when the rate does
    constant = job.epochs is None and recipe.schedule == "constant"
    patience = recipe.search.patience if constant else math.inf
    prunes = recipe.search.prune and constant
    pruning = Pruning(job.bars, job.params.get("lr", math.inf), epochs) if prunes else None
    losses: list[float] = []
    best_epoch, error = 0, 0.0
    state, reason = "complete", ""
    rows = run_trial(asked.replace(epochs=epochs), events)
    try:
        for row in rows:
            loss = row["val_loss"]
            if not math.isfinite(loss):
                raise Diverged(f"validation loss is {loss} in epoch {len(losses) + 1}")
            if loss < min(losses, default=math.inf) or job.epochs is not None:
                best_epoch, error = len(losses) + 1, row.get("val_loss_se", 0.0)
            losses.append(loss)
            events.tell("epoch", epoch=len(losses), total=epochs, row=row)
            if len(losses) - best_epoch >= patience or len(losses) == job.most:
                break
            if pruning is not None and pruning.ends(losses):
                state, reason = "pruned", f"behind the median of the others at epoch {len(losses)}"
                break
    except (Diverged, ModelError) as fault:  # a model that cannot be built with these parameters fails its trial alone
        state, reason = "failed", str(fault)
    finally:
        rows.close()  # type: ignore[attr-defined]
    value = (min(losses) if job.epochs is None else losses[-1]) if losses and state != "failed" else None
    return Trial(job.number, job.params, state, value, best_epoch, error, losses, reason)
