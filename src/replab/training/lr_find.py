"""The learning-rate test: the loss while the rate rises step by step, on a model that is thrown away."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from replab.errors import RecipeError
from replab.models.adapt.freezing import train_mode
from replab.training.experiment import Experiment
from replab.training.loop import train_step

KEEP = 0.9  # of the smoothed loss, per step of a test of 50 or more
STEPS = 50  # of the test before a run, at most
FALL = 0.8  # of the loss's whole fall


@dataclass(frozen=True)
class Rates:
    rates: list[float]
    losses: list[float]  # each step's; training stopped where they blew up
    smoothed: list[float]
    suggestion: float | None  # where the smoothed loss falls fastest; None when it never falls


def test_steps(training: int) -> int:
    """Of a range test before a training of so many steps: a tenth of them."""
    return max(10, min(STEPS, training // 10))


def keep(steps: int) -> float:
    """Of the smoothed loss, per step: in a short test, whose steps are far apart, a smoothed loss would lag behind."""
    return KEEP if steps >= STEPS else float(KEEP ** (STEPS / steps))


def lr_find(experiment: Experiment, low: float = 1e-6, high: float = 1.0, steps: int = 100) -> Rates:
    """Raise the rate from low to high; stop when the smoothed loss is four times its least. Nothing is kept of it.

    Runs are seeded by their own recipe, so this leaves no trace in them.
    """
    if steps < 2:
        raise RecipeError(f"--steps must be at least 2, got {steps}; 100 is the default")
    if experiment.task.objective is None:
        raise RecipeError(f"{experiment.task.name} has no loss that falls with a good rate; give --lr to replab run")
    recipe = experiment.recipe.replace(lr=low, epochs=1, stop_after=None, schedule="constant")
    model = experiment.model(recipe)
    optimizers = experiment.optimizers(model, recipe)
    batches = experiment.batches(experiment.data.train, model, recipe, shuffled=True)
    train_mode(model)
    rates: list[float] = []
    losses: list[float] = []
    smoothed: list[float] = []
    running, epoch, share = 0.0, 0, keep(steps)
    while len(rates) < steps:
        epoch += 1
        for batch in batches.epoch(epoch):
            rate = low * (high / low) ** (len(rates) / (steps - 1))
            for optimizer in optimizers.values():
                for group in optimizer.param_groups:
                    group["lr"] = rate * group.get("share", 1.0)
            logs = train_step(experiment, model, batch, optimizers, recipe, 0, 1)
            loss = float(logs["loss"].mean())
            running = share * running + (1 - share) * loss
            rates.append(rate)
            losses.append(loss)
            smoothed.append(running / (1 - share ** len(rates)))
            if len(rates) == steps or not math.isfinite(loss) or smoothed[-1] > 4 * min(smoothed):
                return Rates(rates, losses, smoothed, suggest(rates, smoothed))
    raise AssertionError("unreachable: the loop returns at its last step")


def one_cycle_peak(found: Rates) -> float | None:
    """The peak of a one-cycle schedule: the rate at which the loss has made four fifths of its whole fall.

    The place of the least loss, and of the steepest fall, are at the mercy of single batches: this one is not.
    """
    line = np.asarray(found.smoothed)
    if found.suggestion is None:
        return None
    least = float(np.nanmin(line))
    return found.rates[int(np.flatnonzero(line <= line[0] - FALL * (line[0] - least))[0])]


def suggest(rates: list[float], smoothed: list[float]) -> float | None:
    """The rate of the steepest fall of the smoothed loss, before its minimum."""
    line = np.asarray(smoothed)
    end = int(np.nanargmin(line)) if np.isfinite(line).any() else 0
    if end < 3:
        return None
    slopes = np.gradient(line[: end + 1], np.log(rates[: end + 1]))
    steepest = int(slopes.argmin())
    return rates[steepest] if slopes[steepest] < 0 else None
