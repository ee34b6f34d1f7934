"""replab best: the better half goes on, the winner is trained, and an interrupted race continues where it was."""

import json

import pytest

from replab import api, race
from replab.errors import RunError
from replab.records.events import Events

GOOD = {"mlp": 0.9, "conv1": 0.8, "cnn": 0.7, "fcn": 0.6, "lenet": 0.5}


@pytest.fixture
def tries(monkeypatch):
    """Rounds without training: a model is as good as GOOD says. The list of (model, seconds) that were tried."""
    tried = []

    def compete(recipe, images, part, validation, entrant, seconds):
        assert not set(map(bytes, part.pixels)) & set(map(bytes, validation.pixels[:20]))
        tried.append((recipe.model, seconds))
        return {"epochs": 2, "images": 10, "accuracy": GOOD[recipe.model], "seconds": seconds}

    times = {"step": 0.01, "image": 0.0, "entry_seconds": 0.0}
    monkeypatch.setattr(race, "enter", lambda recipe, images: {"out": "", "rounds": [], **times})
    monkeypatch.setattr(race, "compete", compete)
    own = api.run
    small = {"limit": 60, "params": {"widths": [4]}, "lr": 1e-3, "epochs": 1}
    monkeypatch.setattr(api, "run", lambda *words, **settings: own(*words, **{**settings, **small}))
    return tried


def test_the_better_half_goes_on_to_a_longer_round_and_the_winner_is_trained(tries, tmp_path):
    folder, run = race.best("digits", 60.0, models=list(GOOD), runs=tmp_path, events=Events())
    assert [name for name, _ in tries] == [*GOOD, "mlp", "conv1"]
    assert tries[0][1] < tries[-1][1]
    assert sum(seconds for _, seconds in tries) <= race.SHARE * 60.0 + 1e-9
    assert run.recipe.model == "mlp"
    assert run.finished
    text = (folder / "race.md").read_text()
    assert "| conv1 | 80.0% | 80.0% | dropped after round 2 |" in text
    assert "| lenet | 50.0% | | dropped after round 1 |" in text
    assert "What a larger budget would try next" in text
    assert (folder / "race.png").stat().st_size > 5000
    before = len(tries)
    assert race.best("digits", 60.0, models=list(GOOD), runs=tmp_path, events=Events())[1].id == run.id
    assert len(tries) == before  # a finished race is read


@pytest.mark.parametrize("stop", [1, 3, 5, 6])
def test_an_interrupted_race_continues(tries, tmp_path, monkeypatch, stop):
    compete = race.compete

    def interrupted(*words):
        if len(tries) == stop:
            raise KeyboardInterrupt
        return compete(*words)

    monkeypatch.setattr(race, "compete", interrupted)
    with pytest.raises(KeyboardInterrupt):
        race.best("digits", 60.0, models=list(GOOD), runs=tmp_path, events=Events())
    monkeypatch.setattr(race, "compete", compete)
    folder, _ = race.best("digits", 60.0, models=list(GOOD), runs=tmp_path, events=Events())
    assert [name for name, _ in tries] == [*GOOD, "mlp", "conv1"]  # none twice
    assert json.loads((folder / "race.json").read_text())["winner"] == "mlp"


def test_a_model_that_fails_is_out_and_a_race_of_none_is_refused(tries, tmp_path, monkeypatch):
    def slow(recipe, *words):
        raise RunError("too slow: a step takes 9.0s")

    monkeypatch.setattr(race, "compete", slow)
    with pytest.raises(RunError, match=r"no model could enter the race \(too slow.*give more time"):
        race.best("digits", 60.0, models=["mlp", "cnn"], runs=tmp_path, events=Events())


def test_another_race_is_refused_its_folder(tries, tmp_path):
    race.best("digits", 60.0, models=["mlp"], runs=tmp_path, events=Events())
    with pytest.raises(RunError, match="holds a race of other models"):
        race.best("digits", 60.0, models=["cnn"], runs=tmp_path, events=Events())


def test_every_round_has_its_share():
    assert [race.rounds_of(n) for n in (1, 3, 4, 7, 8, 15)] == [1, 1, 2, 2, 3, 3]
