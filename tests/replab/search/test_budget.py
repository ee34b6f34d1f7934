"""A budget fixes epochs, search and augmentation before the start; the clock is late by a twentieth or one epoch."""

import itertools

import pytest

from replab import api, pipeline
from replab.errors import RecipeError
from replab.records.events import Events
from replab.search.budget import LONGEST, fit
from replab.settings.length import epochs_for
from replab.settings.recipe import Recipe
from replab.training.cost import Cost

COST = Cost(0.1, 0.001, 0, 0, 0, None, 0, 0.0, True, 0.17, 0.0015)  # seconds of a cnn on two cores
STANDARD = Recipe.of_protocol("standard").replace(augment=("flip", "crop=4"))
IMAGES, TESTED = 3_000, 10_000


def planned(seconds, recipe=STANDARD):
    return fit(recipe.replace(budget=seconds), COST, IMAGES, TESTED, seconds)


def test_what_is_planned_fits_and_grows_with_the_budget():
    usual, before = epochs_for(IMAGES, STANDARD.epochs_at_10k), 0
    for seconds in (8, 15, 30, 60, 120, 180, 600, 1800):
        recipe = planned(seconds)
        assert sum(COST.estimate(recipe, IMAGES, TESTED)) <= seconds
        assert recipe.epochs >= before
        before = recipe.epochs
    assert before == round(LONGEST * usual)


def test_a_short_budget_has_a_range_test_and_no_augmentation():
    assert (planned(30).search.method, planned(30).augment) == ("range-test", ())
    assert (planned(180).search.method, planned(180).augment) == ("halving", ("flip", "crop=4"))
    assert planned(30, STANDARD.replace(protocol="plain")).augment == ("flip", "crop=4")  # as it was given
    assert planned(30, STANDARD.replace(lr=1e-3)).epochs > planned(30).epochs  # nothing to search for


def test_too_little_for_one_epoch_is_refused():
    with pytest.raises(RecipeError, match=r"--budget 1.0s is too short for one epoch, which takes about"):
        planned(1)


@pytest.mark.parametrize("given", [{"epochs": 2000}, {"epochs": 2000, "stop_after": 1500}])
def test_given_epochs_are_cut_to_what_is_paid_for_and_never_exceeded(given):
    asked = STANDARD.replace(**given, epochs_at_10k=None)
    cut, ample = planned(60, asked), fit(asked.replace(**dict.fromkeys(given, 3)), COST, IMAGES, TESTED, 900)
    assert sum(COST.estimate(cut, IMAGES, TESTED)) <= 60
    assert cut.search.method == "range-test"  # six trials would have taken most of it
    assert cut.augment == asked.augment
    assert 1 < cut.last_epoch < asked.last_epoch
    assert cut.epochs == (2000 if "stop_after" in given else cut.last_epoch)
    assert (ample.last_epoch, ample.search.method) == (3, "halving")
    with pytest.raises(RecipeError, match="too short for one epoch"):
        planned(1, asked)


def test_given_epochs_bound_the_search_of_a_run_too(tmp_path):
    """The clock of the plan is the cost alone: two thousand epochs would be searched in trials of 100 and 200."""
    run = api.run("mlp", protocol="standard", budget=2, epochs=20_000, limit=120, params={"widths": [8]},
                  runs=tmp_path, events=Events(heard := Heard()))  # fmt: skip
    assert run.recipe.epochs < 20_000
    assert any("where 20000 were asked for" in text for text in heard.texts)
    assert f"{run.chosen.epochs} (given, within the budget)" in (run.folder / "report.md").read_text()


@pytest.mark.parametrize("slower", [0.8, 1.0, 1.04, 1.3, 5.0])
@pytest.mark.parametrize("epoch", [1.0, 30.0, 90.0])
def test_the_clock_ends_a_training_late_by_a_twentieth_or_one_epoch(monkeypatch, tmp_path, slower, epoch):
    """A made-up clock: each epoch takes `slower` times what was planned."""
    now, budget = [0.0], 300.0
    monkeypatch.setattr(pipeline, "perf_counter", lambda: now[0])
    monkeypatch.setattr(pipeline.journal, "times", lambda folder: [])
    clock = pipeline.Clock(Folder(tmp_path), budget)
    epochs = 0
    while epochs < int(budget / epoch):
        now[0] += epoch * slower
        epochs += 1
        if clock.is_over(epoch * slower):
            break
    assert now[0] <= max(1.05 * budget, budget + epoch * slower) + 1e-9
    assert epochs == int(budget / epoch) or now[0] >= budget


def test_a_run_that_is_slower_than_planned_is_ended_by_the_clock(monkeypatch, tmp_path):
    """A made-up clock again, of a whole run: forty seconds pass from one look at it to the next."""
    ticks = itertools.count(step=40.0)
    monkeypatch.setattr(pipeline, "perf_counter", lambda: next(ticks))
    run = api.run("mlp", protocol="standard", budget=100, lr=1e-3, epochs=9, limit=60, params={"widths": [4]},
                  runs=tmp_path, events=Events())  # fmt: skip
    assert len(run.epochs) == 2  # one look before the training, at 40 seconds; then 80 and 120
    assert "the budget ended the training after 2 of 9 epochs" in (run.folder / "report.md").read_text()


def test_a_search_that_is_slower_than_planned_is_ended_by_the_clock(monkeypatch, tmp_path):
    ticks = itertools.count(step=40.0)
    monkeypatch.setattr(pipeline, "perf_counter", lambda: next(ticks))
    run = api.run("mlp", protocol="plain", trials=6, limit=60, params={"widths": [4]}, budget=100, workers=1,
                  search={"max_epochs": 2}, runs=tmp_path, events=Events())  # fmt: skip
    assert len(run.trials) == 2  # 40 seconds before the first, then 80 and 120
    text = (run.folder / "report.md").read_text()
    assert "the budget ended the search after 2 of 6 trials" in text
    assert len(run.epochs) == 1


class Folder:
    def __init__(self, folder):
        self.folder = folder


def test_a_run_with_a_budget_writes_its_plan_and_repeats_it(tmp_path):
    heard = Heard()
    run = api.run(
        "mlp", protocol="standard", budget=60, epochs_at_10k=1, limit=120, params={"widths": [8]}, runs=tmp_path,
        events=Events(heard),
    )  # fmt: skip
    assert run.recipe.epochs == len(run.epochs)
    assert any(text.startswith("budget 1m00s: ") for text in heard.texts)
    assert f"--epochs {run.recipe.epochs}" in run.recipe.command(tmp_path / "r.toml")
    assert "(by the budget)" in (run.folder / "report.md").read_text()


class Heard:
    def __init__(self):
        self.texts = []

    def hear(self, event):
        if event.kind == "message":
            self.texts.append(event.facts["text"])
