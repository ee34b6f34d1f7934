"""Does the rate that a search found on a subset hold at full size? Trains it and its neighbours to see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from replab.records.events import Events
from replab.runs.audit import Finding
from replab.runs.run import Run
from replab.settings.recipe import derive_seed
from replab.training.experiment import Experiment


@dataclass(frozen=True)
class Retest:
    lr: float
    loss: float
    error: float  # standard error over the validation images
    epoch: int


def retest(run: Run, experiment: Experiment, events: Events, factor: float = 3.0) -> list[Retest]:
    """Train with the chosen rate and its neighbours on nine tenths of all training images; loss on the last tenth.

    Test images are not looked at.
    """
    chosen = run.chosen
    assert chosen.lr is not None
    learner = experiment.learner(events)
    train, validation = learner.data.train.split(0.1, derive_seed(run.recipe.seed, 5))
    tested = []
    for lr in (chosen.lr / factor, chosen.lr, chosen.lr * factor):
        recipe = chosen.replace(lr=lr)
        rows = learner.fit(learner.model(recipe), recipe, train=train, watch={"val": validation}, events=events)
        row = min((row for row, _ in rows), key=lambda r: r["val_loss"])
        tested.append(Retest(lr, row["val_loss"], row["val_loss_se"], int(row["epoch"])))
    return tested


def retest_sentence(tested: Sequence[Retest]) -> Finding:
    """Whether the middle rate is as good as its neighbours."""
    least = min(tested, key=lambda r: r.loss)
    mine = tested[len(tested) // 2]
    behind = mine.loss - least.loss
    holds = behind <= math.hypot(mine.error, least.error)
    listed = ", ".join(f"{r.lr:.3g}: {r.loss:.4f} (epoch {r.epoch})" for r in tested)
    verdict = "holds at full size" if holds else f"does not hold at full size: {least.lr:.3g} is better by {behind:.4f}"
    return Finding(not holds, f"The rate found on the subset {verdict}. Validation loss by rate: {listed}.")
