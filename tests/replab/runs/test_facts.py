"""What a report says of a search by halving, counted by hand."""

from types import SimpleNamespace

from replab.records.trial import Trial
from replab.runs.facts import _halving
from replab.settings.recipe import Recipe

HALVING = {"method": "halving", "trials": 4, "rungs": 2, "longest": 0.2}


def said(recipe, *lengths, at_10k=()):
    """Of trials of so many epochs, the first the best; 0 epochs is a trial that failed."""
    trials = [
        Trial(n, {"lr": 1e-3, **({"epochs_at_10k": at_10k[n]} if at_10k else {})}, "complete" if epochs else "failed",
              float(n), epochs, 0.0, [1.0] * epochs)
        for n, epochs in enumerate(lengths)
    ]  # fmt: skip
    return _halving(SimpleNamespace(recipe=recipe, trials=trials))


def test_each_round_and_its_share_of_the_first_ones_trials_in_full():
    recipe = Recipe(epochs=20).replace(search=HALVING)
    text = "successive halving: 4 of 2 epochs, 2 of 4 epochs; 16 epochs, 0.20 of the 80 that all trials in full take"
    assert said(recipe, 2, 2, 2, 2, 4, 4) == text
    assert said(recipe, 2, 0, 0, 0, 4).startswith("successive halving: 4 of 2 epochs, 1 of 4 epochs; 6 epochs, 0.07 ")


def test_trials_of_different_lengths_are_counted_each_by_its_own():
    """At 40 per 10,000 images the schedule has 20 epochs, so one of 80 has 40, and one of 20 has 10."""
    recipe = Recipe(epochs=20, epochs_at_10k=40).replace(search={**HALVING, "space": {"epochs_at_10k": [20, 40, 80]}})
    text = said(recipe, 1, 2, 4, 4, 2, 4, at_10k=(20, 40, 80, 80, 20, 40))
    assert text == (
        "successive halving: 4 of 1 to 4 epochs, 2 of 2 to 4 epochs;"
        " 17 epochs, 0.15 of the 110 that all trials in full take"
    )
