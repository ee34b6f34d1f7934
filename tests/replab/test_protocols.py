"""Protocols: recipe files that parse, run, are written into the run and resume; what they leave to the images."""

import tomllib

import pytest

from replab import api
from replab.data.augment import automatic
from replab.data.augment.automatic import mirrors, suited
from replab.data.images import ImageSpec
from replab.errors import ReplabError
from replab.preflight import requested
from replab.records.events import Events
from replab.report import write
from replab.settings import protocols
from replab.settings.length import epochs_for
from replab.settings.recipe import DEFAULT, Recipe

SMALL = {"limit": 120, "params": {"widths": [8]}, "events": Events()}


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    monkeypatch.setattr(write, "draw", lambda *args: [])  # they have their own tests


@pytest.mark.parametrize("name", protocols.names())
def test_each_is_a_recipe_file_with_its_name_and_a_sentence(name):
    recipe = Recipe.from_toml(protocols.text(name))
    assert recipe == Recipe.of_protocol(name)
    assert recipe.protocol == name
    assert protocols.describe(name).endswith(".")
    assert requested("mlp", protocol=name).protocol == name


def test_standard_is_the_default_and_the_environment_may_say_otherwise(monkeypatch):
    assert requested("mlp").protocol == "plain"  # as the tests' environment says
    monkeypatch.delenv("REPLAB_PROTOCOL")
    assert requested("mlp").protocol == DEFAULT == "standard"
    monkeypatch.setenv("REPLAB_PROTOCOL", "fastest")
    with pytest.raises(ReplabError, match="no protocol named 'fastest'"):
        requested("mlp")


def test_plain_is_what_a_recipe_without_a_protocol_means():
    assert Recipe.of_protocol("plain") == Recipe()


def test_notes_is_the_published_protocol():
    notes = Recipe.of_protocol("notes")
    assert (notes.schedule, notes.optimizer, notes.batch_size, notes.seed) == ("constant", "adam", 128, 3407)
    assert (notes.test_curve, notes.augment, notes.epochs, notes.lr) == (True, (), None, None)
    search = notes.search
    assert (search.trials, search.max_epochs, search.patience, search.fraction, search.validation) == (
        20,
        50,
        5,
        0.2,
        0.2,
    )
    assert (search.prune, search.choose, search.batch, search.method, search.lr) == (
        False, "best", 1, "tpe", Recipe().search.lr,
    )  # fmt: skip


def test_a_file_written_by_hand_starts_from_the_protocol_it_names():
    assert Recipe.from_toml('protocol = "quick"\nmodel = "mlp"').schedule == "one-cycle"
    assert Recipe.from_toml('format = 3\nprotocol = "quick"').schedule == "constant"  # a whole one has its own values


def test_a_recipe_and_a_protocol_are_one_too_many():
    with pytest.raises(ReplabError, match="got --protocol quick too; leave one of them out"):
        requested(recipe=Recipe(), protocol="quick")


def test_given_epochs_take_the_place_of_the_rule():
    assert requested("mlp", protocol="standard", epochs=3).epochs_at_10k is None


@pytest.mark.parametrize("name", protocols.names())
def test_each_runs_is_written_into_the_run_and_repeats(name, tmp_path):
    run = api.run("mlp", protocol=name, fast=True, runs=tmp_path, **SMALL)
    written = tomllib.loads((run.folder / "recipe.toml").read_text())
    assert written["protocol"] == name
    assert f"| protocol | {name}" in (run.folder / "report.md").read_text()
    watched = name in ("notes", "plain")
    assert ("test_accuracy" in run.epochs[0]) == watched == run.recipe.test_curve
    assert 0 <= run.metrics["accuracy"] <= 1
    assert (run.folder / "rates.json").is_file() == (name in ("standard", "quick", "thorough"))
    assert f"--protocol {name}" in (run.folder / "report.md").read_text()


def test_thorough_searches_what_is_left_open():
    def space(model="mlp", protocol="thorough", **settings):
        return api.prepare(model, limit=120, protocol=protocol, **settings).recipe.search.space

    assert set(space()) == {"weight_decay", "label_smoothing", "augment", "epochs_at_10k"}
    assert space()["augment"] == ["", "crop=1", "crop=1,cutout=2"]
    assert set(space(augment=("flip",), weight_decay=0.01)) == {"label_smoothing", "epochs_at_10k"}
    assert "epochs_at_10k" not in requested("mlp", protocol="thorough", epochs=3).search.space
    assert "epochs_at_10k" not in space(budget=60)
    assert set(space("vae", params={"latent": 3})) == {"weight_decay", "label_smoothing", "epochs_at_10k"}
    with pytest.raises(
        ReplabError, match="needs epochs by that rule, got none; give --epochs-at-10k, without --epochs"
    ):
        space(protocol="plain", search={"space": {"epochs_at_10k": [1, 2, 3]}})


@pytest.mark.parametrize("name", protocols.names())
def test_a_run_resumes_bit_for_bit(name, tmp_path):
    settings = {**SMALL, "protocol": name, "search": {"min_validation": 20, "max_epochs": 2}}
    if name in ("standard", "quick", "thorough"):
        settings["epochs_at_10k"] = 1.0
    if name != "quick":
        settings["search"] |= {"trials": 2, "rungs": 2, "longest": 1.0}

    def run(folder, events):
        return api.run("mlp", runs=folder, **{**settings, "events": events})

    whole = run(tmp_path / "whole", Events())
    files = ("study.jsonl", "epochs.jsonl", "chosen.toml", "rates.json")
    for stop in ("stage", "trial", "epoch")[:: 2 if name == "quick" else 1]:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / stop, Events(Interrupt(stop)))
        (folder,) = (tmp_path / stop).iterdir()
        again = api.resume(folder, events=Events())
        for file in files:
            if (whole.folder / file).is_file():
                assert (again.folder / file).read_bytes() == (whole.folder / file).read_bytes(), (stop, file)
        first, second = whole.record.weights(), again.record.weights()
        assert all((first[name] == second[name]).all() for name in first)


class Interrupt:
    """Ends the run at the first event of its kind that is the run's own."""

    def __init__(self, kind):
        self.kind = kind

    def hear(self, event):
        if event.kind == self.kind and not ("trial" in event.facts and self.kind == "epoch"):
            raise KeyboardInterrupt


def test_flips_are_for_data_that_allow_them():
    image = ImageSpec(3, 32, 32, 10)
    assert suited(("auto",), "cifar10", image) == ("flip", "crop=4")
    assert suited(("auto",), "mnist", ImageSpec(1, 28, 28, 10)) == ("crop=3",)
    assert suited(("auto",), "digits", ImageSpec(1, 8, 8, 10)) == ("crop=1",)
    assert suited(("auto",), "./photos", image) == ("crop=4",)
    assert suited(("flip",), "digits", image) == ("flip",)
    assert suited(("strong",), "cifar10", image) == ("flip", "crop=4", "cutout=8")
    assert suited(("strong",), "digits", ImageSpec(1, 8, 8, 10)) == ("crop=1", "cutout=2")
    assert suited((), "cifar10", image) == ()
    assert (mirrors("cifar10"), mirrors("svhn"), mirrors("./photos")) == (True, False, None)


@pytest.mark.parametrize(("model", "words"), [("mlp", ("flip",)), ("cnn", ("flip", "crop=1"))])
def test_a_model_that_takes_all_pixels_at_once_is_not_shifted_by_rule(model, words, monkeypatch):
    monkeypatch.setattr(automatic, "mirrors", lambda data: True)
    settings = {"limit": 60, "protocol": "standard"}
    recipe = api.prepare(model, **settings).recipe
    assert recipe.augment == words
    assert recipe.epochs == epochs_for(60, 15 if model == "mlp" else 25)
    assert api.prepare(model, **settings, epochs=7).recipe.epochs == 7
    assert api.prepare(model, **settings, augment=("crop=1",)).recipe.augment == (
        "crop=1",
    )  # what is asked for is done


def test_models_that_generate_are_not_augmented_and_adversaries_keep_their_own_rate(tmp_path):
    vae = api.prepare("vae", limit=60, params={"latent": 3}, protocol="standard").recipe
    assert (vae.augment, vae.schedule, vae.search.method) == ((), "one-cycle", "halving")
    assert vae.epochs
    gan = api.prepare("dcgan", limit=60, params={"latent": 3}, protocol="standard").recipe
    assert (gan.augment, gan.schedule, gan.search.method) == ((), "constant", "tpe")
    assert gan.lr is not None
