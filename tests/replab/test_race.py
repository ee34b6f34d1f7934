"""replab best: the better half goes on, the winner is trained, and an interrupted race continues where it was."""

import json

import pytest

from replab import api, preflight, race
from replab.errors import RecipeError, RunError
from replab.race import entry, probe
from replab.race.field import choose, length_of, rounds_of
from replab.records.events import Events
from replab.report import write
from replab.training.prepare import images_of

GOOD = {"mlp": 0.9, "conv1": 0.8, "cnn": 0.7, "fcn": 0.6, "lenet": 0.5}
TAKES = {}  # model → of its seconds in a round


@pytest.fixture
def tries(monkeypatch):
    """Rounds without training: a model is as good as GOOD says. The list of (model, seconds) that were tried."""
    tried, clock = [], [0.0]

    def compete(recipe, images, split, entrant, seconds, splits):
        part, validation = split(0)
        assert not set(map(bytes, part.pixels)) & set(map(bytes, validation.pixels[:20]))
        tried.append((recipe.model, seconds))
        clock[0] += TAKES.get(recipe.model, 1.0) * seconds
        good = GOOD[recipe.model]
        return {"epochs": 2, "images": 10, "accuracy": good, "loss": 1 - good, "seconds": seconds}

    def looked_at(recipe, images, budget):
        clock[0] += 0.1
        whole = 1000.0 if recipe.model == "resnet18" else 5.0
        return {"rounds": [], "seconds": 0.1, **entry.admitted(whole, budget)}

    def measured(recipe, images, budget):
        return {"step": 0.01, "image": 0.0, "seconds": 0.0, **entry.admitted(5.0, budget)}

    monkeypatch.setattr(race, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(entry, "looked_at", looked_at)
    monkeypatch.setattr(entry, "measured", measured)
    monkeypatch.setattr(race, "compete", compete)
    own = api.run
    small = {"limit": 60, "params": {"widths": [4]}, "lr": 1e-3, "epochs": 1}
    monkeypatch.setattr(api, "run", lambda *words, **settings: own(*words, **{**settings, **small}))
    monkeypatch.setattr(write, "draw", lambda *args: [])  # pictures of a run have their own tests
    return tried


@pytest.fixture
def not_trained(tries, finished_run, monkeypatch):
    """The winner's run is one that is there."""
    monkeypatch.setattr(api, "run", lambda *words, **settings: finished_run)


def test_the_better_half_goes_on_to_a_longer_round_and_the_winner_is_trained(tries, tmp_path):
    folder, run = race.best("digits", 60.0, models=list(GOOD), runs=tmp_path, events=Events())
    assert [name for name, _ in tries] == [*GOOD, "mlp", "conv1"]
    assert tries[0][1] == pytest.approx((15 - 0.5) / 3 / 5)  # two rounds, of which the last is twice as long
    assert tries[-1][1] == pytest.approx(6 / 2)  # a tenth of the budget
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


@pytest.mark.parametrize("stop", [1, 5, 6])
def test_an_interrupted_race_continues(tries, not_trained, tmp_path, monkeypatch, stop):
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
    def slow(recipe, images, budget):
        return {"step": 9.0, "image": 0.0, "seconds": 0.0, **entry.admitted(10.0, budget)}

    monkeypatch.setattr(entry, "measured", slow)
    with pytest.raises(RunError, match=r"no model could enter the race \(too slow: a round would .*give more time"):
        race.best("digits", 60.0, models=["mlp", "cnn"], runs=tmp_path, events=Events())


def test_a_race_that_nobody_can_enter_is_refused_before_its_first_round(tries, tmp_path):
    with pytest.raises(RunError, match=r"no model could enter the race \(too slow: 4m27s would train it"):
        race.best("digits", 60.0, models=["resnet18"], runs=tmp_path, events=Events())
    with pytest.raises(RecipeError, match=r"budget must be above 0 seconds, got 0\.0; try --budget 10m"):
        race.best("digits", 0, models=["mlp"], runs=tmp_path, events=Events())


def test_who_could_not_be_trained_afterwards_does_not_enter(tries, not_trained, tmp_path):
    folder, _ = race.best("digits", 60.0, models=["mlp", "cnn", "resnet18"], runs=tmp_path, events=Events())
    assert [name for name, _ in tries] == ["mlp", "cnn"]
    text = (folder / "race.md").read_text()
    assert "| resnet18 | | too slow: 4m27s would train it for 20% of the usual epochs |" in text  # 0.2 · 1000 / 0.75
    assert "resnet18: with 4m27s it could enter" in text


def field(budget, time=lambda entrants, name: None, **costs):
    """(who races, the state) of entrants whose usual trainings take so many seconds."""
    entrants = {name: {"whole": whole, "out": "", "needs": 1.0} for name, whole in costs.items()}
    state = {"entrants": entrants, "spent": 0.0, "budget": budget, "rounds": []}
    choose(state, lambda name: time(entrants, name))
    return [name for name in costs if not entrants[name]["out"]], state


def test_only_those_that_the_race_has_time_for_are_timed(monkeypatch, digits):
    recipes = {name: preflight.requested(name, "digits", protocol="standard") for name in ("cnn", "mlp", "fcn")}
    timed = []

    def measured(recipe, images, budget):
        timed.append(recipe.model)
        return {"step": 0.01, "image": 0.0, "seconds": 7.0, **entry.admitted(45.0, budget)}

    monkeypatch.setattr(entry, "measured", measured)
    glimpse = {"rounds": [], "seconds": 0.0, **entry.admitted(45.0, 60.0)}
    monkeypatch.setattr(entry, "looked_at", lambda *words: dict(glimpse))
    state = {"entrants": {}, "spent": 0.0, "budget": 60.0, "rounds": []}
    entry.enter_all(state, recipes, digits, lambda: None)
    assert timed == ["cnn", "mlp"]  # which has taken 14 s of the race's 15
    assert state["entrants"]["fcn"]["out"] == "left out: the race had no time for it beside the others"
    assert state["spent"] == 14.0
    monkeypatch.undo()
    real = entry.looked_at(recipes["mlp"], digits, 60.0)
    assert 0 < real["whole"] < 60
    assert entry.looked_at(recipes["mlp"], digits, 1e-6)["out"].startswith("too slow: ")


def test_one_that_can_use_the_winners_time_enters_and_with_it_the_cheapest():
    """600 seconds: 450 for the winner, 150 for the race; each is to be seen at 0.15 of what it would get."""
    costs = {"tiny": 1.0, "small": 100.0, "near": 430.0, "slow": 1300.0, "slower": 1700.0}
    assert field(600.0, **costs)[0] == ["tiny", "small", "near", "slow"]  # 981 · 0.15 = 147.2
    assert field(600.0, **costs | {"small": 200.0})[0] == ["tiny", "small", "near"]
    assert field(600.0, slow=1300.0, slower=1700.0, slowest=1800.0)[0] == ["slow", "slower"]  # two at least
    assert field(600.0, a=9.0, b=8.0, c=7.0, d=6.0, e=5.0)[0] == ["a", "b", "c", "d", "e"]

    def slower_than_it_looked(entrants, name):
        if name == "near":
            entrants[name]["out"] = "too slow"

    assert field(600.0, slower_than_it_looked, **costs)[0] == ["tiny", "small", "slow"]


def test_a_round_takes_what_shows_each_at_its_part_and_the_next_shows_twice_as_much():
    racing, state = field(600.0, small=100.0, near=430.0)
    assert rounds_of(state, racing) == 1
    assert length_of(state, racing) == pytest.approx(0.15 * 530)  # the winner has what is left of the race's 150
    state["rounds"].append({})
    assert length_of(state, racing) == pytest.approx(150)  # 0.3 of each would be 159
    racing, state = field(600.0, a=9.0, b=8.0)
    assert length_of(state, racing) == pytest.approx(60)  # small ones are seen to their end
    equal, state = field(600.0, **dict.fromkeys("abcdefgh", 50.0))
    assert len(equal) == 6
    assert [rounds_of(state, equal[:count]) for count in (6, 4, 3, 2)] == [2, 2, 1, 1]


def test_places_are_by_accuracy_and_loss():
    results = {name: {"accuracy": a, "loss": x} for name, a, x in (("a", 0.97, 0.9), ("b", 0.96, 0.1), ("c", 0.9, 0.2))}
    assert race.ranked(results) == ["b", "a", "c"]  # places 1 + 0, 0 + 2, 2 + 1
    results["a"]["loss"] = 0.15
    assert race.ranked(results) == ["a", "b", "c"]  # 0 + 1 and 1 + 0: the accuracy decides


def test_time_that_is_left_over_is_for_other_splits():
    """A model that is trained to its end well before the seconds are over is judged on more validation images."""
    recipe = preflight.requested("mlp", "digits", protocol="standard", limit=100, params={"widths": [4]})
    recipe = recipe.replace(epochs_at_10k=0.5, batch_size=8, augment=())
    images, asked = images_of(recipe), []

    def split(number):
        asked.append(number)
        return images.train.split(0.2, number)

    entrant = {"step": 1e-3, "image": 1e-6, "lr": 1e-2}
    assert race.compete(recipe, images, split, dict(entrant), 600.0, race.SPLITS)["splits"] == race.SPLITS
    assert asked == [0, *range(race.SPLITS)]
    few = race.compete(recipe, images, split, {**entrant, "step": 40.0}, 600.0, 5)  # 15 steps are one epoch of two
    assert (few["splits"], few["epochs"]) == (1, 1)


def test_what_quick_ones_leave_is_for_those_after_them(tries, not_trained, tmp_path, monkeypatch):
    for name in ("mlp", "fcn"):
        monkeypatch.setitem(TAKES, name, 0.0)
    race.best("digits", 60.0, models=["mlp", "fcn", "cnn"], runs=tmp_path, events=Events())
    assert tries[0] == ("mlp", pytest.approx(6 / 3))
    assert tries[2] == ("cnn", pytest.approx(6))


def test_a_round_is_shared_by_what_a_whole_training_costs(tries, not_trained, tmp_path, monkeypatch):
    """At most the winner's time: 45 of 60 seconds. A model that needs more is seen at a smaller part of its epochs."""
    costs = {"mlp": 4.0, "cnn": 36.0, "resnet9": 80.0}
    monkeypatch.setattr(
        entry, "measured",
        lambda recipe, images, budget: {"step": 0.01, "image": 0.0, "seconds": 0.0,
                                        **entry.admitted(costs[recipe.model], budget)},
    )  # fmt: skip
    monkeypatch.setitem(GOOD, "resnet9", 0.1)
    race.best("digits", 60.0, models=list(costs), runs=tmp_path, events=Events())
    assert dict(tries) == pytest.approx({"mlp": 0.15 * 4, "cnn": 0.15 * 36, "resnet9": 0.15 * 45})


def test_another_race_is_refused_its_folder(not_trained, tmp_path):
    race.best("digits", 60.0, models=["mlp"], runs=tmp_path, events=Events())
    race.best("digits", 60.0, models=["mlp"], runs=tmp_path, events=Events())
    for other in ({"models": ["cnn"]}, {"models": ["mlp"], "per_class": 20}):
        with pytest.raises(RunError, match="holds a race of other models or settings, or by older rules"):
            race.best("digits", 60.0, runs=tmp_path, events=Events(), **other)


def test_a_frozen_backbone_is_judged_on_validation_images_and_its_head_fitted_when_it_wins(
    finished_run, tmp_path, monkeypatch
):
    monkeypatch.setattr(write, "draw", lambda *args: [])
    mine = f"probe:mlp@{finished_run.folder}"
    settings = {"limit": 200, "params": {"widths": [16]}, "search": {"trials": 2}}
    folder, run = race.best("digits", 60.0, models=[mine], runs=tmp_path, events=Events(), **settings)
    state = json.loads((folder / "race.json").read_text())
    (only,) = state["entrants"][mine]["rounds"]
    assert only["images"] == 200 - 40  # all that are not for validation
    assert only["accuracy"] > 0.5
    assert (run.recipe.freeze, run.recipe.head, run.recipe.budget) == (True, "logistic", None)
    assert run.metrics["accuracy"] > 0.5
    assert "fine-tuning the backbone" in (folder / "race.md").read_text()


def test_a_probe_takes_as_many_images_as_its_seconds_pay_for(finished_run):
    recipe = preflight.requested(
        "mlp", "digits", protocol="standard", limit=200, params={"widths": [16]}, freeze=True, head="logistic",
        weights=str(finished_run.folder),
    )  # fmt: skip
    images = images_of(recipe)

    def split(number):
        return images.train.split(0.2, number)

    assert probe.compete(recipe, images, split, {"image": 1.0}, 40.0 + 30.0)["images"] == 30
    dear = probe.measured(recipe, images, 1e-6)
    assert dear["out"].startswith("too slow: its features take ")
    assert dear["needs"] == pytest.approx(dear["whole"] / 0.75)


def test_weights_in_the_cache_enter_by_themselves(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path))
    assert probe.at_hand() == []
    (tmp_path / "weights").mkdir()
    for file in ("resnet34-b627a593.pth", "resnet34-00000000.pth"):  # the latter is nobody's
        (tmp_path / "weights" / file).write_bytes(b"")
    assert probe.at_hand() == ["probe:torchvision:resnet34"]
    own = {"freeze": True, "head": "logistic"}
    assert probe.entrant("probe:torchvision:resnet34") == ("torchvision:resnet34", {**own, "pretrained": True})
    assert probe.entrant("probe:lite0.py:net@w.pth") == ("lite0.py:net", {**own, "weights": "w.pth"})
    assert probe.entrant("cnn") == ("cnn", {})
