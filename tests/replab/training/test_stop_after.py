"""--stop-after K: the first K epochs of a longer schedule, to the last bit, and not a shorter schedule."""

from __future__ import annotations

import pytest

from replab import api
from replab.errors import RecipeError
from replab.settings.recipe import Recipe

SETTINGS = {"limit": 120, "batch_size": 16, "lr": 0.01, "schedule": "one-cycle", "quiet": True}


def test_the_first_epochs_of_a_longer_schedule(tmp_path):
    whole = api.run("mlp", epochs=4, runs=tmp_path, **SETTINGS)
    stopped = api.run("mlp", epochs=4, stop_after=2, runs=tmp_path, **SETTINGS)
    shorter = api.run("mlp", epochs=2, runs=tmp_path, **SETTINGS)
    assert stopped.finished
    assert stopped.epochs == whole.epochs[:2]
    assert shorter.epochs[0] != whole.epochs[0]
    assert stopped.metrics["accuracy"] == whole.epochs[1]["test_accuracy"]


def test_more_than_there_are_is_refused():
    with pytest.raises(RecipeError, match="--stop-after must be at most --epochs, got 5 of 4"):
        Recipe(lr=0.1, epochs=4, stop_after=5)
    with pytest.raises(RecipeError, match="as many as a search finds"):
        Recipe(stop_after=5)
    assert Recipe(lr=0.1, epochs=4, stop_after=3).fast().last_epoch == 1
