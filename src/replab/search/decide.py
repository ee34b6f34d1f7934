"""The stage before the training: everything that a recipe leaves open is decided, and written down once."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter

from replab.backends.backend import threads
from replab.data.split import split_for_search
from replab.records.events import Events
from replab.records.record import Record
from replab.records.trial import Trial
from replab.records.watching.numbers import spelled
from replab.search.allowance import Allowance
from replab.search.budget import planned_ahead
from replab.search.choice import best
from replab.search.engines.base import Workers
from replab.search.hire import ALONE, at_most, hire
from replab.search.rounds import winner
from replab.search.trials import search
from replab.search.work import Work
from replab.settings.recipe import Recipe
from replab.settings.searched import apply, wanted_trials, wants_range_test
from replab.settings.words import count, duration
from replab.training.cost import Cost, searches
from replab.training.experiment import Experiment
from replab.training.lr_find import lr_find, one_cycle_peak, test_steps

LOW, HIGH = 1e-5, 1.0  # rates of the range test


def choose(
    record: Record,
    learner: Experiment,
    cost: Cost,
    left: float,
    over: Callable[[float], bool],
    events: Events,
    workers: Workers = ALONE,
) -> Recipe:
    """The recipe with everything decided: by search where something was left open. Written once, as chosen.toml.

    `left`: seconds that the budget has for search and training; `over`: whether more of them are too many.
    """
    if record.has("chosen.toml"):
        return record.chosen()
    recipe, cuts, trials = learner.recipe, [], list[Trial]()
    allowance = afford(record, learner, cost, left)
    if searches(learner) and recipe.search.method == "range-test":
        recipe = recipe.replace(lr=range_test(record, learner, events))
    elif searches(learner):
        trials = run_search(record, learner, allowance, over, events, workers)
        pick = pick_of(trials, recipe)
        recipe = apply(recipe, pick.params)
        recipe = recipe.replace(epochs=recipe.epochs or pick.best_epoch)
        wanted = wanted_trials(learner.recipe)
        if len(trials) < wanted and (allowance.seconds < math.inf or over(math.inf)):
            cuts.append(f"the budget ended the search after {len(trials)} of {wanted} trials")
        values, epochs = spelled(pick.params) or "as given", count(recipe.epochs or 0, "epoch")
        events.message(f"search: chose trial {pick.number + 1} of {len(trials)}: {values}, {epochs}")
    last = recipe.last_epoch
    assert last is not None
    affordable = allowance.affordable(trials, last)
    if affordable < last:
        cuts.append(f"the budget cut the training from {last} to {count(affordable, 'epoch')}")
        recipe = recipe.replace(**{"stop_after" if recipe.stop_after else "epochs": affordable})
    record.write_json("cuts.json", cuts)
    record.write_text("chosen.toml", recipe.to_toml())
    return recipe


def pick_of(trials: list[Trial], recipe: Recipe) -> Trial:
    """The trial whose values the training takes."""
    if recipe.search.method == "halving" and (finalists := winner(recipe, trials)):
        return finalists[0]
    return best(trials, recipe.search.choose)


def afford(record: Record, learner: Experiment, cost: Cost, left: float) -> Allowance:
    """What the budget pays for, decided when the search begins and kept: a resumed run goes by the same."""
    if left == math.inf or planned_ahead(learner.recipe):
        return Allowance()
    if not record.has("allowance.json"):
        costs = (cost.epoch_seconds, cost.trial_epoch_seconds, learner.recipe.last_epoch)
        record.write_json("allowance.json", Allowance(left, *costs).to_dict())
    return Allowance(**record.read_json("allowance.json", {}))


def range_test(record: Record, learner: Experiment, events: Events) -> float | None:
    """The rate that a range test on the training images suggests, kept as rates.json; None where none is wanted.

    It runs on the threads of a trial, in this process: the number of workers changes nothing.
    """
    recipe = learner.recipe
    if not wants_range_test(recipe):
        return None
    if not record.has("rates.json"):
        started, steps = perf_counter(), max(1, round(len(learner.data.train) / recipe.batch_size))
        with threads(learner.backend, recipe.search.threads):
            found = lr_find(learner, LOW, HIGH, test_steps((recipe.epochs or 1) * steps))
        low, high = recipe.search.lr
        peak = one_cycle_peak(found) or math.sqrt(low * high)
        record.write_json("rates.json", {"rates": found.rates, "losses": found.losses, "suggestion": peak})
        seconds = perf_counter() - started
        events.tell("stage", stage="search", seconds=seconds)
        events.message(f"range test: a rate of {peak:.2g}, in {duration(seconds)}")
    return float(record.read_json("rates.json", {})["suggestion"])


def run_search(
    record: Record,
    learner: Experiment,
    allowance: Allowance,
    over: Callable[[float], bool],
    events: Events,
    workers: Workers = ALONE,
) -> list[Trial]:
    """Every trial the recipe asks for, or as many as leave time to train; each is written when those before it are."""
    trials, asked = record.trials(), learner.recipe
    work = Work(learner, *split_for_search(learner.data.train, asked.search, asked.seed))
    sizes = {"train_images": len(work.train), "validation_images": len(work.validation)}
    record.write_json("split.json", sizes)
    told, total = perf_counter(), wanted_trials(asked)
    engine = hire(work, at_most(workers, total - len(trials)))
    try:
        for _, trial, seconds, where in search(
            asked,
            engine,
            trials,
            asked=record.read_json("asked.json", None),
            remember=lambda batch: record.write_json("asked.json", batch),
            allowance=allowance,
            events=events,
            centre=range_test(record, learner, events),
        ):
            trials.append(trial)
            record.write_trials(trials)
            facts = {key: getattr(trial, key) for key in ("number", "state", "value", "params", "best_epoch")}
            elapsed, told = perf_counter() - told, perf_counter()  # trials side by side take less than their sum
            events.tell("trial", total=total, seconds=seconds, elapsed=elapsed, where=where, **facts)
            if over(seconds) and any(trial.state == "complete" for trial in trials):
                break  # trials cost far more than was measured: nothing is left to train in
    finally:
        engine.close()
    return trials
