"""The search: ask, train, remember, until there are enough trials. It sees a split of the training images alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

from replab.errors import ModelError
from replab.records.events import Events
from replab.records.trial import Trial
from replab.search.ask import ask
from replab.search.stopping import Pruning
from replab.settings.recipe import Recipe
from replab.settings.searched import apply, wanted_trials
from replab.training.loop import Diverged, Row

RunTrial = Callable[[Recipe, Events], Iterator[Row]]  # rows with a `val_loss`, one per epoch


def search(
    recipe: Recipe,
    run_trial: RunTrial,
    finished: Sequence[Trial],
    *,
    time_left: Callable[[], bool] = lambda: True,
    events: Events | None = None,
) -> Iterator[tuple[Trial, float]]:
    """Yield each new trial and its seconds as it ends; `finished` are those of an interrupted search."""
    told, total, events = list(finished), wanted_trials(recipe), events or Events()
    with events.span("search", total, len(told)):
        while len(told) < total and time_left():
            started = perf_counter()
            trial = one_trial(recipe, run_trial, ask(recipe, told), told, events.inside(trial=len(told)))
            told.append(trial)
            yield trial, perf_counter() - started


def one_trial(
    recipe: Recipe, run_trial: RunTrial, params: dict[str, Any], finished: Sequence[Trial], events: Events
) -> Trial:
    """Train with these parameters until patience, pruning, divergence or the last epoch ends it."""
    epochs = recipe.epochs or recipe.search.max_epochs
    constant = recipe.schedule == "constant"  # a schedule runs its length: its loss falls when the rate does
    patience = recipe.search.patience if constant else math.inf
    pruning = Pruning(finished, params.get("lr", math.inf), epochs) if recipe.search.prune and constant else None
    losses: list[float] = []
    best_epoch, error = 0, 0.0
    state, reason = "complete", ""
    rows = run_trial(apply(recipe, params).replace(epochs=epochs), events)
    try:
        for row in rows:
            loss = row["val_loss"]
            if not math.isfinite(loss):
                raise Diverged(f"validation loss is {loss} in epoch {len(losses) + 1}")
            if loss < min(losses, default=math.inf):
                best_epoch, error = len(losses) + 1, row.get("val_loss_se", 0.0)
            losses.append(loss)
            events.tell("epoch", epoch=len(losses), total=epochs, row=row)
            if len(losses) - best_epoch >= patience:
                break
            if pruning is not None and pruning.ends(losses):
                state, reason = "pruned", f"behind the median of the others at epoch {len(losses)}"
                break
    except (Diverged, ModelError) as fault:  # a model that cannot be built with these parameters fails its trial alone
        state, reason = "failed", str(fault)
    finally:
        rows.close()  # type: ignore[attr-defined]
    value = min(losses) if losses and state != "failed" else None
    return Trial(len(finished), params, state, value, best_epoch, error, losses, reason)
