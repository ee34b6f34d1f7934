"""What is asked for: a recipe with settings on top, and names that do not exist refused at once."""

import pytest

from replab.data.decode import reach
from replab.errors import ReplabError, UnknownName
from replab.preflight import check, requested
from replab.settings.recipe import Recipe
from replab.settings.search import Search


def test_settings_go_on_top_of_a_recipe():
    base = Recipe(model="mlp", lr=0.1, params={"widths": [8]}, search=Search(trials=3, patience=2))
    asked = requested(None, "mnist", reads_images=False, recipe=base, trials=5, params={"depth": 2}, epochs=4)
    assert asked == base.replace(
        data="mnist", epochs=4, params={"widths": [8], "depth": 2}, search={"trials": 5, "patience": 2}
    )
    assert requested(recipe=base, fast=True) == base.fast()


def test_fast_leaves_alone_what_is_asked_for_by_name():
    base = Recipe(epochs=7, search=Search(trials=9))
    asked = requested(recipe=base, fast=True, epochs=3, trials=2, limit=900)
    assert (asked.epochs, asked.search.trials, asked.limit, asked.search.max_epochs) == (3, 2, 900, 1)
    assert (base.fast().epochs, base.fast().search.trials, base.fast().limit) == (1, 1, 160)  # of a file, not by name


def test_pretrained_alone_brings_its_normalisation(monkeypatch):
    monkeypatch.setattr(reach, "obstacle", lambda address: "")
    assert requested("resnet18", pretrained=True).normalise == "backbone"
    assert requested("resnet18", pretrained=True, normalise="half").normalise == "half"
    assert requested(recipe=Recipe(model="resnet18"), pretrained=True).normalise == "dataset"


def test_weights_by_the_id_of_a_run(tmp_path):
    (tmp_path / "cnn-digits-1").mkdir()
    assert requested(weights="cnn-digits-1", runs=tmp_path).weights == str(tmp_path / "cnn-digits-1")
    assert requested(weights="other.pth", runs=tmp_path).weights == "other.pth"
    for name in ("environment.json", "recipe.toml"):
        (tmp_path / "cnn-digits-1" / name).write_text("")
    for name in ("cnn-dig", "latest"):
        assert requested(weights=name, runs=tmp_path).weights == str(tmp_path / "cnn-digits-1")


def test_a_builder_needs_no_name_but_its_data_does():
    assert requested(lambda image: None, "digits").data == "digits"
    with pytest.raises(UnknownName, match="no data set named 'digts'"):
        requested(lambda image: None, "digts")


def test_the_recipe_of_a_run_may_name_a_model_file_that_is_gone(tmp_path):
    """The folder may bring its text: models.trust decides."""
    recipe = Recipe(model="gone.py:build")
    (tmp_path / "recipe.toml").write_text(recipe.to_toml())
    with pytest.raises(ReplabError, match=r"no model file gone.py"):
        requested(recipe=tmp_path / "recipe.toml")
    (tmp_path / "environment.json").write_text("{}")
    assert requested(recipe=tmp_path / "recipe.toml") == recipe


def test_a_model_brings_the_recipe_it_was_published_with():
    found = requested("airbench94", reads_images=False)
    assert (found.data, found.batch_size, found.epochs, found.optimizer) == ("cifar10", 2000, 8, "spectral")
    assert (found.tta, found.augment) == ("multicrop", ("alternating-flip", "reflect-crop=2"))
    assert requested("airbench94", "digits", epochs=3, size=32).epochs == 3
    assert requested("airbench94", recipe=Recipe(lr=1e-3)) == Recipe(model="airbench94", lr=1e-3)
    assert requested("cnn") == Recipe(model="cnn")


@pytest.mark.parametrize("model", ["cnn", "vit-b16", "torchvision:resnet50", "python:build"])
def test_models_that_are_known_elsewhere(model):
    check(Recipe(model=model))
