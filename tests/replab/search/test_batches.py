"""Trials asked for ahead: what each knows, and that nothing depends on which ends first."""

import math
import random

import pytest

from replab.records.events import Events
from replab.records.trial import Trial
from replab.search.allowance import Allowance
from replab.search.ask import Suggester, ask, quasi_random, startup_trials
from replab.search.choice import best
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
    """An engine with so many workers, any of which may be the next to end."""

    def __init__(self, recipe, run_trial, seed, count=2):
        self.recipe, self.run_trial, self.count, self.rng, self.begun = (
            recipe,
            run_trial,
            count,
            random.Random(seed),
            [],
        )

    def run(self, jobs, events):
        running = []
        while jobs or running:
            while jobs and len(running) < self.count:
                running.append(jobs.popleft())
                self.begun.append(running[-1])
            job = running.pop(self.rng.randrange(len(running)))
            yield Done(job.number, one_trial(self.recipe, self.run_trial, job, events), 0.1, "nowhere")

    def close(self):
        pass


def trials(recipe, engine, finished=(), **more):
    return [done.result for done in search(recipe, engine, list(finished), **more)]


def straight_trials(recipe, **more):
    return trials(recipe, InProcess(Trials(recipe, valley)), **more)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("batch", [2, 4])
def test_the_order_in_which_trials_end_changes_nothing(batch, count):
    recipe = batches(batch=batch)
    straight = straight_trials(recipe)
    for seed in range(4):
        engine = Shuffled(recipe, valley, seed, count)
        assert trials(recipe, engine) == straight
        assert [job.number for job in engine.begun] == list(range(14))
    assert [t.number for t in straight] == list(range(14))
    assert any(t.state == "pruned" for t in straight)


def test_a_trial_knows_those_told_when_it_was_asked_for():
    """All but the three before it: those may still be open, whether they are or not."""
    recipe = batches()
    engine = Shuffled(recipe, valley, 0)
    found = trials(recipe, engine)
    for job in engine.begun:
        told = max(0, job.number - 3)
        assert job.bars == Standings(found[:told]).bars()
        assert job.params == ask(recipe, found[:told], [t.params for t in found[told : job.number]])
    assert {t.state for t in found[:4]} == {"complete"}  # the first have nothing to be behind


def test_no_more_are_open_than_the_recipe_says():
    recipe, told = batches(), []

    class Watched(Shuffled):
        def run(self, jobs, events):
            for done in super().run(jobs, events):
                assert len(self.begun) + len(jobs) <= len(told) + 4
                yield done

    for done in search(recipe, Watched(recipe, valley, 1, 9), []):
        told.append(done.result)
    assert len(told) == 14


def test_the_size_of_a_batch_is_part_of_what_is_asked():
    told = straight_trials(batches())
    assert told != straight_trials(batches(batch=2))
    known = told[:8]
    open_ = [ask(batches(), known)]
    assert ask(batches(), known) == open_[0]
    assert ask(batches(), known, open_) != ask(batches(), known, [{"lr": 1e-2}]) != open_[0]


@pytest.mark.parametrize(
    "space", [{}, {"weight_decay": [1e-5, 1e-2], "hidden": [4, 9], "activation": ["relu", "gelu"]}]
)
@pytest.mark.parametrize("batch", [1, 3, 4])
def test_a_study_that_is_kept_asks_what_one_told_anew_asks(batch, space):
    """Over complete, pruned and failed trials, and ones that were replaced."""
    recipe, rng, told, open_ = batches(trials=33, batch=batch, space=space), random.Random(1), [], []
    kept = Suggester(recipe)
    while len(told) < 32:
        while len(open_) < batch:
            params = kept.suggest(told, open_)
            assert params == ask(recipe, told, open_)
            # once as a resumed search may find it
            open_.append({**params, "lr": 2e-4} if len(told) == 12 else params)
        state = rng.choice(["complete", "complete", "pruned", "failed"])
        losses = [rng.random() for _ in range(rng.randrange(1, 6))]
        value = None if state == "failed" else min(losses)
        told.append(Trial(len(told), open_.pop(0), state, value, 1, 0.0, losses))


@pytest.mark.parametrize("seconds", [math.inf, 200.0])
@pytest.mark.parametrize("done", range(14))
def test_an_interrupted_search_goes_on_as_if_it_had_not_been(done, seconds):
    """With and without what it had remembered, and with a budget."""
    recipe, kept = batches(), []
    allowance = Allowance(seconds, epoch_seconds=2.0, trial_epoch_seconds=1.0)
    straight = straight_trials(recipe, remember=kept.append, allowance=allowance)
    assert len(straight) == 14 if seconds == math.inf else 3 < len(straight) < 14
    for asked in (None, *(one for one in kept if one["first"] <= done)):
        again = straight_trials(recipe, finished=straight[:done], asked=asked, allowance=allowance)
        assert again == straight[done:]


def test_open_trials_are_finished_as_they_were_asked():
    """Even by an Optuna that would ask for something else."""
    recipe, kept = batches(), []
    straight = straight_trials(recipe, remember=kept.append)
    assert [asked["first"] for asked in kept] == list(range(11))
    assert [asked["params"][0] for asked in kept] == [t.params for t in straight[:11]]
    other = {"first": 4, "params": [{"lr": lr} for lr in (1e-4, 2e-4, 3e-4, 4e-4)]}
    resumed = straight_trials(recipe, finished=straight[:6], asked=other)
    assert [t.params["lr"] for t in resumed[:2]] == [3e-4, 4e-4]
    over = straight_trials(recipe, finished=straight[:8], asked=other)  # those have ended
    assert over == straight[8:]


def test_a_budget_is_not_exceeded_and_not_left_lying():
    for seconds in (30, 100, 200, 400, 800):
        allowance = Allowance(seconds, epoch_seconds=2.0, trial_epoch_seconds=1.0)
        found = straight_trials(batches(), allowance=allowance)
        needed = best([t for t in found if t.state == "complete"]).best_epoch
        assert allowance.left(found) >= 2.0 * needed - 1e-9 or len(found) == 1
        assert len(found) == 14 or allowance.left(found) < 2.0 * needed + 4


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
    assert ask(batches(), told)["lr"] > 0


def test_trials_are_told_with_their_numbers():
    class Heard(list):
        def hear(self, event):
            if event.kind == "epoch":
                self.append(event.facts["trial"])

    heard, recipe = Heard(), batches(trials=4, max_epochs=1)
    trials(recipe, InProcess(Trials(recipe, valley)), events=Events(heard))
    assert heard == [0, 1, 2, 3]
