"""Heads fitted at once on features: they converge, vote as they should, and are runs like others."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from replab import api
from replab.errors import ModelError, RecipeError
from replab.models.adapt import freezing, heads
from replab.records.events import Events
from replab.report import write as report
from replab.settings.recipe import Recipe
from replab.tasks.classify import Classify
from replab.training import cost
from replab.training import prepare as setup

CNN = {"model": "cnn", "params": {"channels": [4, 8], "hidden": 16}, "limit": 90, "freeze": True}
SEARCH = {"trials": 3, "fraction": 1.0, "min_validation": 20}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    scale = np.array([1, 10, 0.1, 1, 1])
    return (scale * (rng.normal(size=(120, 5)) + y[:, None])).astype(np.float32), y


def test_logistic_regression_is_scikit_learns_at_the_optimum(rows):
    x, y = rows
    head, recipe = heads.Logistic(5, 3), Recipe(head="logistic", freeze=True, weight_decay=0.01)
    logs = head.fit_once(x, y, Classify(torch, 3), recipe)
    assert logs["gradient"] <= heads.TOLERANCE
    regression = LogisticRegression(C=1 / (0.01 * len(x)), tol=1e-10, max_iter=5000)
    theirs = make_pipeline(StandardScaler(), regression).fit(x.astype(np.float64), y)
    np.testing.assert_allclose(head.weight.detach(), regression.coef_ / x.std(0, np.float64), rtol=1e-3)
    with torch.no_grad():
        shares = head(torch.from_numpy(x)).softmax(1)
    np.testing.assert_allclose(shares, theirs.predict_proba(x), atol=1e-4)
    assert head.weight.dtype == torch.float32


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_nearest_votes_as_scikit_learns(rows, metric):
    x, y = rows
    head = heads.Nearest(5, 3, 0, metric)
    head.fit_once(x[:100], y[:100], None, Recipe(head="knn", freeze=True, neighbours=7))
    said = head(torch.from_numpy(x[100:])).exp().numpy()
    theirs = KNeighborsClassifier(7, metric=metric, algorithm="brute").fit(x[:100], y[:100])
    np.testing.assert_allclose(said, (theirs.predict_proba(x[100:]) * 7 + 1 / 3) / 8, rtol=1e-5)
    np.testing.assert_allclose(said.sum(1), 1, rtol=1e-5)


@pytest.mark.parametrize(("head", "knob"), [("logistic", "weight_decay"), ("knn", "neighbours")])
def test_a_run_searches_its_one_knob_and_is_reported(tmp_path, head, knob):
    run = api.run(recipe=Recipe().replace(**CNN, head=head, search=SEARCH), runs=tmp_path / "runs")
    assert [set(t["params"]) for t in run.trials] == [{knob}] * 3
    best = min(run.trials, key=lambda t: t["value"])
    assert getattr(run.chosen, knob) == best["params"][knob]
    assert run.metrics["accuracy"] > 0.3
    assert len(run.epochs) == 1
    assert "| learning rate |" not in run.report
    assert ("converged after" if head == "logistic" else "nearest training images") in run.report
    # the whole model on images gives what the head gave on features
    assert run.facts["unsteadiness"] < 1e-5
    shown = run.predictions["mistake_pixels"][:3]
    said = api.load_run(run.folder).predict(list(shown))
    expected = run.predictions["logits"][run.predictions["mistake_index"][:3]].argmax(1)
    assert [s.label for s in said] == [run.input["classes"][i] for i in expected]
    weights = run.record.weights()
    again = api.run(recipe=run.chosen.replace(search={"space": {}}), runs=tmp_path / "again")
    assert not again.trials
    assert all(np.array_equal(again.record.weights()[key], value) for key, value in weights.items())


@pytest.mark.parametrize("head", ["linear", "mlp", "logistic", "knn"])
def test_a_fixed_head_gives_the_same_logits_on_features_and_behind_the_backbone(head):
    ready = setup.prepare(Recipe().replace(**CNN, head=head))
    learner = ready.learner(Events())
    small, data = learner.model(), learner.data
    if head in ("logistic", "knn"):
        recipe = ready.recipe.replace(weight_decay=1e-4, neighbours=5)
        small.fit_once(data.train.pixels, data.train.labels, ready.task, recipe)
    model = ready.model()
    freezing.head(model).load_state_dict(small.state_dict())
    model.eval(), small.eval()
    batch = next(iter(ready.batches(ready.data.test, model).epoch(0)))
    with torch.no_grad():
        torch.testing.assert_close(small(torch.from_numpy(data.test.pixels)), model(batch.x), atol=1e-5, rtol=0)


@pytest.mark.parametrize("more", [{"freeze": False}, {"augment": ["flip"]}, {"feature_cache": False}])
def test_they_need_features(more):
    with pytest.raises(RecipeError, match="fitted on the features of a frozen backbone"):
        Recipe().replace(**{**CNN, "head": "knn", **more})


def test_layers_after_the_head_are_refused(tmp_path):
    file = tmp_path / "m.py"
    file.write_text(
        "from torch import nn\n"
        "def build(image):\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.Linear(8, 10), nn.LogSoftmax(1))\n"
    )
    with pytest.raises(ModelError, match="layers after its head"):
        cost.measure(setup.prepare(Recipe(model=f"{file}:build", limit=60, freeze=True, head="logistic")))


def test_the_command(replab, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "draw", lambda *args: [])
    words = ("run", "cnn", "--limit", 80, "--freeze", "--runs", tmp_path)
    code, out, err = replab(*words, "--head", "knn", "--neighbours", 3, "--distance", "euclidean")
    assert (code, err.count("Error")) == (0, 0)
    assert "3 nearest training images by euclidean distance" in out
    assert "features of 160 images, one pass" in out
    code, _, err = replab(*words, "--head", "knn", "--neighbours", 0)
    assert code == 2
    assert "neighbours must be at least 1" in err
