"""Batches of a search: what is asked at once, and that nothing depends on which trial ends first."""

import math
import random

import pytest

from replab.records.events import Events
from replab.records.trial import Trial
from replab.search.ask import Suggester, ask, quasi_random, startup_trials
from replab.search.engines.base import Done
from replab.search.engines.in_process import InProcess
from replab.search.one_trial import Trials, one_trial
from replab.search.stopping import Standings
from replab.search.trials import search
from replab.settings.recipe import Recipe
from replab.settings.search import Search

SPACE = {"weight_decay": [1e-5, 1e-2], "hidden": [4, 9], "activation": ["relu", "gelu", "tanh"], "dropout": [0.0, 0.5]}


def batches(**changes):
    return Recipe(search=Search(**{"trials": 14, "max_epochs": 30, "patience": 20, "batch": 4, **changes}))


def valley(recipe, events=None):
    """Smooth, best at lr 1e-3, falling over epochs."""
    for epoch in range(1, recipe.epochs + 1):
        yield {"epoch": float(epoch), "val_loss": (math.log10(recipe.lr) + 3) ** 2 + 1 / epoch}


class Shuffled:
    """An engine whose trials end in an order of its own."""

    count = 2

    def __init__(self, recipe, run_trial, seed):
        self.recipe, self.run_trial, self.rng, self.batches = recipe, run_trial, random.Random(seed), []

    def run(self, jobs, events):
        self.batches.append(list(jobs))
        for job in self.rng.sample(jobs, len(jobs)):
            yield Done(job.number, one_trial(self.recipe, self.run_trial, job, events), 0.1, "nowhere")

    def close(self):
        pass


def trials(recipe, engine, finished=(), **more):
    return [done.result for done in search(recipe, engine, list(finished), **more)]


@pytest.mark.parametrize("seed", range(4))
def test_the_order_in_which_trials_end_changes_nothing(seed):
    recipe = batches()
    straight = trials(recipe, InProcess(Trials(recipe, valley)))
    engine = Shuffled(recipe, valley, seed)
    assert trials(recipe, engine) == straight
    assert [t.number for t in straight] == list(range(14))
    assert [len(jobs) for jobs in engine.batches] == [4, 4, 4, 2]
    assert any(t.state == "pruned" for t in straight)


def test_a_trial_is_compared_with_earlier_batches_only():
    recipe = batches()
    engine = Shuffled(recipe, valley, 0)
    found = trials(recipe, engine)
    for number, jobs in enumerate(engine.batches):
        for job in jobs:
            assert job.bars == Standings(found[: 4 * number]).bars()
        rates = [job.params["lr"] for job in jobs]
        assert rates == sorted(rates)  # side by side, those that learn slowly begin first
    assert {t.state for t in found[:4]} == {"complete"}  # the first have nothing to be behind


def test_the_size_of_a_batch_is_part_of_what_is_asked():
    told = trials(batches(), InProcess(Trials(batches(), valley)))[:8]
    assert ask(batches(), told) == ask(batches(), told)
    assert len(ask(batches(), told)) == 4
    assert ask(batches(batch=2), told) != ask(batches(), told)[:2]
    assert len({params["lr"] for params in ask(batches(), told)}) == 4


@pytest.mark.parametrize(
    "space", [{}, {"weight_decay": [1e-5, 1e-2], "hidden": [4, 9], "activation": ["relu", "gelu"]}]
)
@pytest.mark.parametrize("batch", [1, 3, 4])
def test_a_study_that_is_kept_asks_what_one_told_anew_asks(batch, space):
    """Over complete, pruned and failed trials, batches that were cut short, and ones that were replaced."""
    recipe, rng, told = batches(trials=33, batch=batch, space=space), random.Random(1), []
    kept = Suggester(recipe)
    while len(told) < 32:
        asked = kept.suggest(told)
        assert asked == ask(recipe, told)
        if len(told) == 12:
            asked = [{**params, "lr": 2e-4} for params in asked]  # as a resumed search may find them
        for params in asked:
            state = rng.choice(["complete", "complete", "pruned", "failed"])
            losses = [rng.random() for _ in range(rng.randrange(1, 6))]
            value = None if state == "failed" else min(losses)
            told.append(Trial(len(told), params, state, value, 1, 0.0, losses))


def test_an_interrupted_batch_is_finished_as_it_was_asked():
    """Even by an Optuna that would ask for something else."""
    recipe, kept = batches(), []
    straight = trials(recipe, InProcess(Trials(recipe, valley)), remember=kept.append)
    assert [asked["first"] for asked in kept] == [0, 4, 8, 12]
    assert [params for asked in kept for params in asked["params"]] == [t.params for t in straight]
    other = {"first": 4, "params": [{"lr": lr} for lr in (1e-4, 2e-4, 3e-4, 4e-4)]}
    resumed = trials(recipe, InProcess(Trials(recipe, valley)), straight[:6], asked=other)
    assert [t.params["lr"] for t in resumed[:2]] == [3e-4, 4e-4]
    over = trials(recipe, InProcess(Trials(recipe, valley)), straight[:8], asked=other)  # that batch is over
    assert over == straight[8:]


def test_the_first_trials_are_spread_over_the_whole_space():
    recipe = Recipe(search=Search(trials=40, batch=4, space=SPACE))
    points = quasi_random(recipe, 0, 16)
    assert points[4:8] == quasi_random(recipe, 4, 8)  # one sequence, whatever was asked before
    low, high = recipe.search.lr
    tenth = [sum(low * (high / low) ** (k / 4) <= p["lr"] < low * (high / low) ** ((k + 1) / 4) for p in points)
             for k in range(4)]  # fmt: skip
    assert tenth == [4, 4, 4, 4]  # a net: each quarter of the range has its share
    assert {p["hidden"] for p in points} == set(range(4, 10))
    assert {p["activation"] for p in points} == {"relu", "gelu", "tanh"}
    assert all(1e-5 <= p["weight_decay"] <= 1e-2 and 0 <= p["dropout"] <= 0.5 for p in points)
    assert sum(p["weight_decay"] < 10**-3.5 for p in points) == 8
    assert quasi_random(recipe.replace(seed=1), 0, 4) != points[:4]


def test_the_start_is_quasi_random_and_then_modelled():
    recipe = batches(trials=24)
    start = startup_trials(24)
    found = trials(recipe, InProcess(Trials(recipe, valley)))
    assert [t.params for t in found[:start]] == quasi_random(recipe, 0, start)
    assert [t.params for t in found[start : start + 2]] != quasi_random(recipe, start, start + 2)


def test_failed_trials_are_no_obstacle():
    told = [Trial(n, {"lr": 1e-3}, "failed", reason="diverged") for n in range(8)]
    assert len(ask(batches(), told)) == 4


def test_trials_are_told_with_their_numbers():
    class Heard(list):
        def hear(self, event):
            if event.kind == "epoch":
                self.append(event.facts["trial"])

    heard, recipe = Heard(), batches(trials=4, max_epochs=1)
    trials(recipe, InProcess(Trials(recipe, valley)), events=Events(heard))
    assert heard == [0, 1, 2, 3]
