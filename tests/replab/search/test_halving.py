"""Successive halving: rounds of short schedules, judged by their last loss; the range test before them."""

from itertools import pairwise

import pytest

from replab.records.trial import Trial
from replab.search.engines.base import Job
from replab.search.engines.in_process import InProcess
from replab.search.halving import SPAN, candidates, next_round
from replab.search.one_trial import Trials, one_trial
from replab.search.rounds import rounds, winner
from replab.search.trials import search
from replab.settings.length import epochs_for, rungs
from replab.settings.recipe import Recipe
from replab.settings.searched import apply, planned, wanted_trials, wants_range_test

RECIPE = Recipe(schedule="one-cycle", epochs=40).replace(
    search={"method": "halving", "trials": 8, "rungs": 3, "longest": 0.2}
)


def trial(number, lr, losses, state="complete"):
    return Trial(number, {"lr": lr}, state, losses[-1] if state == "complete" else None, len(losses), 0.0, losses)


def test_each_round_has_half_the_trials_and_twice_the_epochs():
    assert rungs(RECIPE) == [(8, 2), (4, 4), (2, 8)]
    assert (wanted_trials(RECIPE), planned(RECIPE)) == (14, rungs(RECIPE))
    assert rungs(RECIPE.replace(epochs=1)) == [(8, 1)]  # rounds that would be as long as the one before are left out
    assert rungs(RECIPE.replace(search={"trials": 1})) == [(1, 8)]


def test_epochs_follow_the_cube_root_of_the_images():
    assert [epochs_for(images, 25) for images in (1_250, 10_000, 80_000)] == [50, 25, 12]
    assert epochs_for(10**9, 25) == 1


def test_rates_are_evenly_spaced_around_the_range_test():
    rates = [params["lr"] for params in candidates(RECIPE, 1e-3)]
    assert (rates[0], rates[-1]) == (pytest.approx(1e-3 / SPAN), pytest.approx(1e-3 * SPAN))
    ratios = {round(b / a, 6) for a, b in pairwise(rates)}
    assert len(ratios) == 1
    low, high = RECIPE.search.lr
    assert [params["lr"] for params in candidates(RECIPE, None)][:: len(rates) - 1] == [low, pytest.approx(high)]


def test_a_larger_space_is_covered_quasi_randomly():
    wide = RECIPE.replace(search={"space": {"weight_decay": [1e-5, 1e-2]}})
    points = candidates(wide, 1e-3)
    assert len({point["weight_decay"] for point in points}) == len(points) == 8
    assert all(1e-3 / SPAN <= point["lr"] <= 1e-3 * SPAN for point in points)


def test_the_better_half_goes_on_and_failed_trials_do_not():
    first = [trial(n, 10.0**-n, [3.0, float(n)]) for n in range(7)] + [trial(7, 1.0, [], "failed")]
    following = next_round(RECIPE, first, 1e-3)
    assert (following.first, following.epochs) == (8, 4)
    assert following.params == [{"lr": 10.0**-n} for n in range(4)]
    second = [trial(8 + n, 10.0**-n, [2.0] * 3 + [1.0 - n / 10]) for n in range(4)]
    assert next_round(RECIPE, first + second, 1e-3).params == [{"lr": 1e-3}, {"lr": 1e-2}]
    third = [trial(12, 1e-3, [1.0] * 8), trial(13, 1e-2, [0.9] * 8)]
    assert next_round(RECIPE, first + second + third, 1e-3) is None
    assert (
        winner(RECIPE, first + second + third)[0].number == 13
    )  # of the longest, though shorter ones had a lower loss
    assert rounds(RECIPE, first + second + third) == [first, second, third]
    assert rounds(RECIPE, first[:3]) == [first[:3]]
    few = [trial(0, 1e-3, [1.0, 1.0]), *(trial(n, 1.0, [], "failed") for n in range(1, 8))]
    assert next_round(RECIPE, few, 1e-3).params == [{"lr": 1e-3}]


def test_the_length_of_the_schedule_is_searched_too():
    """A trial of half the length is half as long in each round; the last round decides, not the longest trial."""
    space = {"epochs_at_10k": [20.0, 40.0, 80.0], "augment": ["", "flip"]}
    recipe = RECIPE.replace(epochs_at_10k=40, search={"space": space})
    assert planned(recipe) == [(8, 4), (4, 8), (2, 16)]  # at most
    assert (apply(recipe, {"epochs_at_10k": 80.0}).epochs, apply(recipe, {"augment": "flip"}).augment) == (
        80,
        ("flip",),
    )

    def rows(recipe, events):
        for epoch in range(recipe.epochs):  # the shorter the better
            yield {"val_loss": recipe.epochs_at_10k + abs(recipe.lr - 2e-3) + 1 / (1 + epoch)}

    found = [done.result for done in search(recipe, InProcess(Trials(recipe, rows)), [], centre=1e-3)]
    assert {len(t.losses) for t in found[:8]} == {1, 2, 4}
    assert all(len(t.losses) == {20.0: 1, 40.0: 2, 80.0: 4}[t.params["epochs_at_10k"]] for t in found[:8])
    pick = winner(recipe, found)[0]
    assert (pick.number >= 12, pick.params["epochs_at_10k"], len(pick.losses)) == (True, 20.0, 4)
    assert apply(recipe, pick.params).epochs == 20
    one = recipe.replace(search={"method": "tpe", "max_epochs": 3})
    assert len(one_trial(one, rows, Job(0, {"lr": 1e-3, "epochs_at_10k": 80.0}), Heard()).losses) == 80


def test_a_trial_of_a_round_runs_its_whole_schedule_and_its_last_loss_counts():
    lengths = []

    def rows(recipe, events):
        lengths.append(recipe.epochs)
        for epoch in range(recipe.epochs):
            yield {"val_loss": 1.0 + epoch}  # patience and pruning would end it

    done = one_trial(RECIPE, rows, Job(0, {"lr": 1e-3}, epochs=4), Heard())
    assert (done.losses, done.value, done.best_epoch, done.state) == ([1.0, 2.0, 3.0, 4.0], 4.0, 4, "complete")
    assert lengths == [4]


class Heard:
    def tell(self, kind, **facts):
        pass


def loss(recipe, events):
    """Best at a rate of 2e-3, the better the longer."""
    for epoch in range(recipe.epochs):
        yield {"val_loss": abs(recipe.lr - 2e-3) * 100 + 1 / (1 + epoch)}


def test_a_search_finds_the_rate_and_an_interrupted_one_goes_on_the_same():
    whole = [done.result for done in search(RECIPE, InProcess(Trials(RECIPE, loss)), [], centre=1e-3)]
    assert [len(t.losses) for t in whole] == [2] * 8 + [4] * 4 + [8] * 2
    assert winner(RECIPE, whole)[0].params["lr"] == min((t.params["lr"] for t in whole), key=lambda lr: abs(lr - 2e-3))
    for cut in (3, 8, 9, 13):
        rest = [done.result for done in search(RECIPE, InProcess(Trials(RECIPE, loss)), whole[:cut], centre=1e-3)]
        assert whole[:cut] + rest == whole


def test_a_range_test_is_made_where_nothing_else_says_the_rates():
    assert wants_range_test(RECIPE)
    assert not wants_range_test(RECIPE.replace(lr=1e-3))
    assert not wants_range_test(RECIPE.replace(search={"lr": (1e-4, 1e-2)}))
    assert not wants_range_test(Recipe())
    assert wants_range_test(RECIPE.replace(search={"method": "range-test", "lr": (1e-4, 1e-2)}))
