"""The search: its split, its space, what it asks, and how a trial ends. No trial here trains unless it must."""

import gc
import json
import math
import random
import statistics
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replab.data.images import Images
from replab.data.split import split_for_search
from replab.errors import ModelError, RecipeError, ReplabError, UnknownName
from replab.records.events import Events
from replab.records.trial import Trial
from replab.search.allowance import Allowance
from replab.search.ask import startup_trials
from replab.search.choice import best
from replab.search.decide import run_search
from replab.search.engines.base import Job
from replab.search.engines.in_process import InProcess
from replab.search.one_trial import Trials, one_trial
from replab.search.stopping import Bars, Standings, on_course
from replab.search.trials import search
from replab.settings.recipe import Recipe
from replab.settings.search import Search
from replab.settings.searched import apply, check_space
from replab.settings.searched import searched as space_of
from replab.training import prepare as setup
from replab.training.experiment import Experiment
from replab.training.loop import Diverged


def numbered(n, classes=4):
    """Images that carry their own number in their first bytes."""
    pixels = np.zeros((n, 1, 1, 2), np.uint8)
    pixels[:, 0, 0, 0], pixels[:, 0, 0, 1] = np.arange(n) // 256, np.arange(n) % 256
    return Images(pixels, np.arange(n) % classes, tuple("abcd"[:classes]), (0.0,), (1.0,))


def numbers(images):
    return set((images.pixels[:, 0, 0, 0].astype(int) * 256 + images.pixels[:, 0, 0, 1]).tolist())


@given(
    n=st.integers(20, 3000),
    fraction=st.floats(0.05, 1),
    validation=st.floats(0.05, 0.5),
    floor=st.integers(1, 400),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=30, deadline=None)
def test_split(n, fraction, validation, floor, seed):
    search = Search(fraction=fraction, validation=validation, min_validation=floor)
    train, held_out = split_for_search(numbered(n), search, seed)
    assert not numbers(train) & numbers(held_out)
    assert len(numbers(train)) == len(train)
    assert len(numbers(held_out)) == len(held_out)
    used = len(train) + len(held_out)
    assert used <= n
    assert used >= min(n, fraction * n) - 4
    # the floor is reached, or all images are used and a third of them held out
    assert len(held_out) >= min(floor, n // 3) - 4
    assert len(held_out) >= round(validation * used) - 4
    assert len(train) >= used // 3
    again = split_for_search(numbered(n), search, seed)
    assert (numbers(train), numbers(held_out)) == tuple(map(numbers, again))


def test_the_notes_sizes_on_fifty_thousand():
    train, held_out = split_for_search(numbered(50_000), Search(), 3407)
    assert (len(train), len(held_out)) == (8_000, 2_000)


def test_digits_get_enough_validation_images():
    train, held_out = split_for_search(numbered(1438), Search(), 3407)
    assert len(held_out) == pytest.approx(300, abs=4)
    assert len(train) == pytest.approx(1138, abs=4)


def curve(*losses):
    """A run_trial that yields these validation losses, whatever is asked."""

    def run_trial(recipe, events=None):
        for epoch, loss in enumerate(losses, 1):
            yield {"epoch": float(epoch), "val_loss": loss, "val_loss_se": 0.01}

    return run_trial


def valley(recipe, events=None):
    """Smooth, best at lr 1e-3, falling over epochs."""
    for epoch in range(1, recipe.epochs + 1):
        yield {"epoch": float(epoch), "val_loss": (math.log10(recipe.lr) + 3) ** 2 + 1 / epoch}


def trials_of(recipe, run_trial, finished=()):
    return [done.result for done in search(recipe, InProcess(Trials(recipe, run_trial)), list(finished))]


def small(**changes):
    return Recipe(search=Search(**{"trials": 8, "max_epochs": 6, "prune": False, "batch": 1, **changes}))


@pytest.mark.parametrize("trials", range(4, 60))
def test_startup_leaves_most_trials_to_tpe(trials):
    assert startup_trials(trials) < trials
    assert startup_trials(trials) <= 10


@pytest.mark.parametrize(("batch", "share"), [(1, 0.6), (4, 0.75)])  # those open at once keep away from each other
def test_it_models_rather_than_guesses(batch, share):
    """After the random start the asked rates gather where the losses were least."""
    first, later = [], []
    for seed in range(12):
        found = trials_of(small(trials=24, batch=batch).replace(seed=seed), valley)
        distance = [abs(math.log10(t.params["lr"]) + 3) for t in found]
        first += distance[: startup_trials(24)]
        later += distance[startup_trials(24) + 4 :]
    assert np.median(later) < share * np.median(first)


@pytest.mark.parametrize("batch", [1, 3, 4])
def test_an_interrupted_search_asks_the_same(batch):
    recipe = small(batch=batch)
    straight = trials_of(recipe, valley)
    assert [t.number for t in straight] == list(range(8))
    for done in (1, 3, 7, 8):
        assert straight[:done] + trials_of(recipe, valley, straight[:done]) == straight
    # through JSON, as a run keeps them
    told = [Trial(**t.to_dict()) for t in straight[:5]]
    assert told + trials_of(recipe, valley, told) == straight


@pytest.mark.parametrize("batch", [1, 4])
def test_the_seed_reaches_the_search(batch):
    one, two = (trials_of(small(batch=batch).replace(seed=seed), valley) for seed in (1, 2))
    assert [t.params for t in one] != [t.params for t in two]
    assert len({t.params["lr"] for t in one}) == 8


@pytest.mark.parametrize("batch", [1, 8])
def test_rates_are_log_uniform_in_the_notes_range(batch):
    low, high = math.exp(-10), math.exp(-4)
    found = [t.params["lr"] for t in trials_of(small(trials=40, max_epochs=1, batch=batch), curve(1.0))]
    assert all(low <= lr <= high for lr in found)
    assert any(lr < 3e-4 for lr in found)
    assert any(lr > 3e-3 for lr in found)


def test_patience_stops_and_the_best_epoch_is_kept():
    recipe = small(trials=1, patience=3, max_epochs=50)
    (trial,) = trials_of(recipe, curve(3.0, 2.0, 2.5, 1.0, 1.5, 1.2, 1.1, 0.1, 0.1))
    assert (trial.state, trial.value, trial.best_epoch) == ("complete", 1.0, 4)
    assert trial.losses == [3.0, 2.0, 2.5, 1.0, 1.5, 1.2, 1.1]  # three epochs without a better one
    assert trial.error == 0.01


def test_a_plateau_is_no_improvement():
    (trial,) = trials_of(small(trials=1, patience=2, max_epochs=50), curve(*[2.0] * 50))
    assert (trial.best_epoch, len(trial.losses)) == (1, 3)


def test_a_schedule_runs_its_length():
    recipe = Recipe(schedule="one-cycle", epochs=8, search=Search(trials=1, patience=2))
    (trial,) = trials_of(recipe, curve(1, 2, 3, 4, 5, 6, 7, 8))
    assert len(trial.losses) == 8


def good_then(bad, before=5):
    """Some good trials, then one that asks for pruning as soon as that is allowed."""
    calls = []

    def run_trial(recipe, events=None):
        calls.append(recipe)
        losses = [1.0 - 0.01 * e for e in range(50)] if len(calls) <= before else bad
        for epoch, loss in enumerate(losses, 1):
            yield {"epoch": float(epoch), "val_loss": float(loss)}

    return run_trial


def test_pruning_waits_for_a_fair_number_of_epochs():
    recipe = small(trials=6, max_epochs=50, patience=40, prune=True)
    worse = [9.0] + [10.0] * 49
    last = trials_of(recipe, good_then(worse))[-1]
    assert last.state == "pruned"
    assert len(last.losses) == 5  # a tenth of the most epochs
    assert last.reason == "behind the median of the others at epoch 5"
    assert (last.value, last.best_epoch) == (9.0, 1)
    assert trials_of(small(trials=6, max_epochs=50, patience=40, prune=False), good_then(worse))[-1].state == "complete"


def test_a_trial_ahead_of_the_median_is_not_pruned():
    recipe = small(trials=6, max_epochs=50, patience=40, prune=True)
    flat = [0.95] + [0.925] * 49  # the others have 0.93 by epoch 8, 0.92 by epoch 9
    assert trials_of(recipe, good_then(flat))[-1].reason == "behind the median of the others at epoch 9"
    ahead = [0.95] + [0.5] * 49  # flat too
    assert trials_of(recipe, good_then(ahead))[-1].state == "complete"


@pytest.mark.parametrize(("lr", "state"), [(1e-4, "complete"), (1e-2, "pruned")])
def test_a_small_rate_that_catches_up_is_not_pruned(lr, state):
    """Behind the others until epoch 9, but falling like a curve that reaches the best in time."""
    recipe = small(trials=2, max_epochs=50, patience=40, prune=True)
    told = [Trial(0, {"lr": 1e-3}, "complete", 0.51, 50, 0.0, [1.0 - 0.01 * e for e in range(50)])]
    rows = good_then([14.0 / e - 0.6 for e in range(1, 51)], before=0)
    assert one_trial(recipe, rows, Job(1, {"lr": lr}, Standings(told).bars()), Events()).state == state
    too_slow = good_then([100.0 / e + 3 for e in range(1, 51)], before=0)
    assert one_trial(recipe, too_slow, Job(1, {"lr": lr}, Standings(told).bars()), Events()).state == "pruned"


def test_behind_the_median_by_hand():
    others = [[5.0, 3.0, 3.5], [5.0, 1.0, 9.0], [5.0, 2.0, 2.5], [0.1]]  # their best by epoch 3: 3, 1, 2
    bars = Standings(Trial(n, {"lr": 1.0}, "complete", min(each), losses=each) for n, each in enumerate(others)).bars()
    assert bars.medians == (5.0, 2.0, 2.0)
    assert bars.behind([9.0, 2.1, 4.0])
    assert not bars.behind([9.0, 2.0, 4.0])  # the best so far counts, not the last
    assert not bars.behind([9.0, 9.0, 9.0, 9.0])  # nobody got as far
    assert Bars(**json.loads(json.dumps(vars(Bars())))) == Bars(medians=[])  # as workers hear of it


def test_standings_are_those_of_all_trials_at_once():
    rng, told = random.Random(0), []
    for number in range(30):
        losses = [rng.random() for _ in range(rng.randrange(12))]
        value = min(losses) if losses and rng.random() < 0.8 else None
        told.append(Trial(number, {"lr": rng.random()}, "complete", value, losses=losses))
        bars = Standings(told).bars()
        assert (bars.least, bars.rate) == min(
            (t.value if t.value is not None else math.inf, t.params["lr"]) for t in told
        )
        for epoch in range(1, 12):
            bests = [min(t.losses[:epoch]) for t in told if len(t.losses) >= epoch]
            assert list(bars.medians[epoch - 1 : epoch]) == ([statistics.median(bests)] if bests else [])


def test_on_course_by_hand():
    falling = [1 + 8 / epoch for epoch in range(1, 11)]  # 1.8 at epoch 10, 1.4 at epoch 20, 1.2 at epoch 40
    assert on_course(falling, least=1.4, epochs=20)
    assert not on_course(falling, least=1.2, epochs=20)
    assert on_course(falling, least=1.2, epochs=40)
    assert not on_course(falling, least=0.9, epochs=40)  # at an even pace it would be there in a few epochs
    assert on_course([9.0], least=0.1, epochs=20)  # too early to tell


def test_a_schedule_is_not_pruned():
    recipe = Recipe(schedule="cosine", epochs=50, search=Search(trials=6, prune=True, batch=1))
    assert trials_of(recipe, good_then([9.0] + [10.0] * 49))[-1].state == "complete"


def test_the_first_trial_has_nothing_to_be_behind():
    recipe = small(trials=2, max_epochs=50, patience=40, prune=True)
    worse = [9.0] + [10.0] * 49
    assert [t.state for t in trials_of(recipe, good_then(worse, before=0))] == ["complete", "complete"]


def test_a_diverging_trial_fails_with_its_reason_and_the_search_goes_on():
    calls = []

    def run_trial(recipe, events=None):
        calls.append(recipe.lr)
        yield {"epoch": 1.0, "val_loss": 2.0}
        if len(calls) == 2:
            raise Diverged("training diverged in epoch 2: the loss is not a number")
        yield {"epoch": 2.0, "val_loss": math.nan if len(calls) == 3 else 1.0}

    found = trials_of(small(trials=5, max_epochs=2), run_trial)
    assert [t.state for t in found] == ["complete", "failed", "failed", "complete", "complete"]
    assert "diverged in epoch 2" in found[1].reason
    assert "validation loss is nan in epoch 2" in found[2].reason
    assert found[1].value is None
    assert best(found).state == "complete"
    # failed ones are told too: an interrupted search goes on alike
    calls[:] = [0.0] * 4
    assert trials_of(small(trials=5, max_epochs=2), run_trial, found[:4]) == found[4:]


def test_all_failed_is_one_line():
    found = trials_of(small(trials=3), curve(math.inf))
    with pytest.raises(ReplabError, match=r"no trial of 3 finished \(validation loss is inf in epoch 1\); give --lr"):
        best(found)


def trial(number, value, lr, error=0.0, state="complete"):
    return Trial(number, {"lr": lr}, state, value, 3, error)


def test_best_is_the_least_complete_value():
    found = [trial(0, 2.0, 0.1), trial(1, 0.5, 0.1, state="pruned"), trial(2, 1.0, 0.3), trial(3, 1.04, 0.01)]
    assert best(found).number == 2
    assert best(found, "best").number == 2


def test_one_standard_error_takes_the_lower_quartile_of_those_as_good():
    found = [trial(0, 1.0, 0.3, error=0.05), trial(1, 1.04, 0.01), trial(2, 1.06, 0.001), trial(3, 1.02, 0.1)]
    assert best(found, "one-standard-error").number == 1
    more = [trial(4, 1.03, 0.05), trial(5, 1.05, 0.2), trial(6, 1.01, 0.02, state="pruned")]
    assert best([*found, *more], "one-standard-error").number == 4
    assert best([trial(0, 1.0, 0.3, error=0.0), trial(1, 1.04, 0.01)], "one-standard-error").number == 0
    small_best = [trial(0, 1.0, 0.01, error=0.5), *(trial(n, 1.1, 0.1 * n) for n in range(1, 9))]
    assert best(small_best, "one-standard-error").number == 0  # never a larger rate than the best trial's own
    given_rate = [
        Trial(0, {"weight_decay": 0.1}, "complete", 1.0, 1, 0.5),
        Trial(1, {"weight_decay": 0.0}, "complete", 1.2, 1),
    ]
    assert best(given_rate, "one-standard-error").number == 0


def test_a_declared_space_reaches_recipe_and_model():
    space = {"weight_decay": [1e-5, 1e-2], "batch_size": [32, 64, 128], "channels": [[8, 16], [16]], "hidden": [4, 9]}
    recipe = Recipe(params={"dropout": 0.1}, search=Search(trials=12, max_epochs=1, space=space))
    seen = []

    def run_trial(recipe, events=None):
        seen.append(recipe)
        yield {"epoch": 1.0, "val_loss": recipe.lr}

    found = trials_of(recipe, run_trial)
    assert {"lr", *space} == space_of(recipe).keys()
    for asked in seen:
        assert 1e-5 <= asked.weight_decay <= 1e-2
        assert asked.batch_size in (32, 64, 128)
        assert asked.params["channels"] in ([8, 16], [16])
        assert 4 <= asked.params["hidden"] <= 9
        assert isinstance(asked.params["hidden"], int)
        assert asked.params["dropout"] == 0.1
    assert len({asked.batch_size for asked in seen}) > 1
    assert len({str(asked.params["channels"]) for asked in seen}) == 2
    assert apply(recipe, found[3].params).params == seen[3].params
    assert found[:6] + trials_of(recipe, run_trial, found[:6]) == found


@pytest.mark.parametrize(
    ("space", "says"),
    [
        ({"weight_decay": [0.1, 0.01]}, r"search.space.weight_decay = .* needs low < high, got \[0.1, 0.01\]"),
        ({"weight_decay": 0.1}, r"search.space.weight_decay must be \[low, high\] or a list of choices, got 0.1"),
        ({"batch_size": []}, "search.space.batch_size must be"),
    ],
)
def test_a_space_that_cannot_be(space, says):
    with pytest.raises(RecipeError, match=says):
        space_of(Recipe(search=Search(space=space)))


def test_a_space_nobody_knows():
    with pytest.raises(UnknownName, match=r"no search parameter named 'weight_deca'. Did you mean 'weight_decay'\?"):
        check_space(Recipe(search=Search(space={"weight_deca": [1e-5, 1e-2]})), {"dropout"})
    check_space(Recipe(search=Search(space={"dropout": [0.1, 0.5]})), {"dropout"})


@pytest.mark.parametrize(
    "space",
    [{"weight_decay": [-1.0, 1.0]}, {"batch_size": [0, 3]}, {"label_smoothing": [0.1, 2.0]}, {"lr": [0.1, 0.01]}],
)
def test_an_impossible_space_is_refused_before_anything_runs(space):
    with pytest.raises(RecipeError):
        check_space(Recipe(search=Search(space=space)), set())


def test_a_given_rate_needs_one_trial_for_the_epochs():
    recipe = Recipe(lr=0.01, search=Search(trials=20, max_epochs=9, patience=2))
    (found,) = trials_of(recipe, curve(3, 2, 1, 2, 3, 4))
    assert (found.params, found.best_epoch) == ({}, 3)


def test_given_epochs_are_what_a_trial_gets():
    seen = []

    def run_trial(recipe, events=None):
        seen.append(recipe.epochs)
        yield {"epoch": 1.0, "val_loss": 1.0}

    trials_of(Recipe(epochs=7, search=Search(trials=2)), run_trial)
    assert seen == [7, 7]


def test_a_model_that_cannot_be_built_fails_its_trial():
    def run_trial(recipe, events=None):
        if recipe.params["heads"] == 3:
            raise ModelError("nanovit needs heads to divide width")
        yield {"epoch": 1.0, "val_loss": 1.0}

    recipe = Recipe(lr=0.1, search=Search(trials=6, space={"heads": [2, 3, 4]}))
    found = trials_of(recipe, run_trial)
    failed = [t for t in found if t.state == "failed"]
    assert failed
    assert all(t.params == {"heads": 3} and "divide width" in t.reason for t in failed)
    assert len(found) == 6


@pytest.fixture
def ready():
    recipe = Recipe(
        model="mlp", params={"widths": [8]}, limit=60, batch_size=32,
        search=Search(trials=5, max_epochs=2, min_validation=10, fraction=1.0),
    )  # fmt: skip
    return setup.prepare(recipe)


class Memory:
    """Stands for a record: keeps trials in memory."""

    def __init__(self):
        self.kept, self.folder = [], Path("nowhere")

    def trials(self):
        return []

    def write_trials(self, trials):
        self.kept = list(trials)

    def read_json(self, name, default):
        return default

    def write_json(self, name, value):
        pass

    def read_lines(self, name):
        return []

    def write_lines(self, name, rows):
        pass


def searched(ready):
    return run_search(Memory(), ready, Allowance(), lambda more: False, Events())


def test_trials_do_not_keep_their_models(ready, monkeypatch):
    made, most = [], 0
    fresh = Experiment.model

    def watched(self, recipe=None):
        nonlocal most
        model = fresh(self, recipe)
        made.append(weakref.ref(model))
        gc.collect()
        most = max(most, sum(ref() is not None for ref in made))
        return model

    monkeypatch.setattr(Experiment, "model", watched)
    assert len(searched(ready)) == 5
    gc.collect()
    assert len(made) == 5  # the cost was measured on the one that was tried
    assert most == 1
    assert not [ref for ref in made if ref() is not None]


def test_test_images_are_out_of_reach(ready):
    """With the test images spoiled the search finds the very same."""
    from dataclasses import replace

    expected = searched(ready)
    spoiled = replace(ready.data.test, pixels=np.zeros((0, 1, 8, 8), np.uint8), labels=np.zeros(0, np.int64))
    assert searched(replace(ready, data=replace(ready.data, test=spoiled))) == expected
