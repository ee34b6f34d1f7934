"""Weights made here, on other classes: their normalisation kept or not, and the gain over training from scratch."""

import numpy as np
import pytest

from replab import api
from replab.records.statistics import paired_difference
from replab.report import write as report
from replab.runs.audit import audit
from replab.runs.run import finished_runs
from replab.settings.recipe import Recipe
from replab.training import prepare as setup

CNN = {"model": "cnn", "params": {"channels": [4, 8], "hidden": 16}, "lr": 0.01}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("finetuning")


@pytest.fixture(scope="module")
def pretrained(folder):
    patch = pytest.MonkeyPatch()
    patch.setattr(report, "draw", lambda *args: [])
    wanted = Recipe().replace(**CNN, classes=["0", "1", "2", "3", "4"], epochs=3, normalise="half")
    yield api.run(recipe=wanted, runs=folder)
    patch.undo()


def test_the_audit_says_what_pretraining_gained(folder, pretrained):
    few = Recipe().replace(**CNN, classes=["5", "6", "7", "8", "9"], per_class=8, epochs=2)
    scratch = api.run(recipe=few, runs=folder)
    tuned = api.run(recipe=few.replace(weights=pretrained.id), weights=pretrained.id, runs=folder)
    assert tuned.input["train_images"] == 40
    assert tuned.input["fingerprint"] == scratch.input["fingerprint"]
    right = [r.predictions["logits"].argmax(1) == r.predictions["labels"] for r in (tuned, scratch)]
    gain, low, high = (100 * value for value in paired_difference(*right))
    said = f"{gain:+.2f} points (95 % interval {low:+.2f} to {high:+.2f}, McNemar's p"
    beside = finished_runs(folder)
    (sentence,) = [f.sentence for f in audit(tuned, beside) if "from scratch" in f.sentence]
    assert f"Against training from scratch: {said}" in sentence
    assert scratch.id in sentence
    assert not [f for f in audit(scratch, beside) if "from scratch" in f.sentence]
    assert "from scratch" not in tuned.report  # a report reads its own folder alone


def test_the_interval_of_a_paired_difference():
    a, b = np.array([True] * 60 + [False] * 40), np.array([True] * 50 + [False] * 50)
    gain, low, high = paired_difference(a, b)
    assert gain == pytest.approx(0.1)
    assert 0 < low < gain < high < 0.2
    assert paired_difference(b, a) == pytest.approx((-gain, -high, -low))
    assert paired_difference(a, a)[1] < 0 < paired_difference(a, a)[2]  # never sure of nothing


def test_a_runs_own_normalisation_comes_with_its_weights(pretrained):
    tuned = Recipe().replace(**CNN, weights=str(pretrained.folder), per_class=4, epochs=1)
    assert setup.prepare(tuned).recipe.normalise == "dataset"
    assert setup.prepare(tuned.replace(normalise="backbone")).recipe.normalise == "0.5/0.5"


def test_a_head_of_other_classes_is_not_loaded_though_it_would_fit(pretrained):
    same, other = (
        setup.prepare(Recipe().replace(**CNN, weights=str(pretrained.folder), classes=list(names)))
        for names in ("01234", "56789")
    )
    assert not same.weights_summary.new
    assert set(other.weights_summary.new) == {"12.weight", "12.bias"} == set(other.weights_summary.unused)
