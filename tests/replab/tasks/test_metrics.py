"""Metrics against scikit-learn, their intervals by simulation, and where they are shown."""

import numpy as np
import pytest
import sklearn.metrics

from replab import api
from replab.errors import RecipeError
from replab.records.values.answers import log_softmax
from replab.settings.choices import metric
from replab.tasks import metrics


def answers(n=400, classes=7, seed=0):
    """Logits that know something, of classes that have unequal shares."""
    rng = np.random.default_rng(seed)
    labels = np.minimum(rng.geometric(0.4, n) - 1, classes - 1)
    return (rng.normal(size=(n, classes)) + 1.5 * np.eye(classes)[labels]).astype(np.float32), labels


THEIRS = {
    "balanced-accuracy": lambda logits, labels: sklearn.metrics.balanced_accuracy_score(labels, logits.argmax(1)),
    "macro-f1": lambda logits, labels: sklearn.metrics.f1_score(labels, logits.argmax(1), average="macro"),
    "top-5": lambda logits, labels: sklearn.metrics.top_k_accuracy_score(labels, logits, k=5, labels=range(7)),
    "brier": lambda logits, labels: ((np.exp(log_softmax(logits)) - np.eye(7)[labels]) ** 2).sum(1).mean(),
    "auroc": lambda logits, labels: sklearn.metrics.roc_auc_score(
        labels, np.exp(log_softmax(logits.astype(np.float64))), multi_class="ovr", average="macro", labels=range(7)
    ),
}


@pytest.mark.parametrize("name", THEIRS)
def test_against_scikit_learn(name):
    logits, labels = answers()
    assert metric.get(name)(logits, labels) == pytest.approx(THEIRS[name](logits, labels), rel=1e-6)


def test_ties_count_half():
    labels = np.array([0, 1, 0, 1])
    assert metric.get("auroc")(np.zeros((4, 2)), labels) == 0.5
    assert metric.get("auroc")(np.array([[1.0, 0], [0, 1], [1, 0], [0, 1]]), labels) == 1.0


@pytest.mark.parametrize("name", THEIRS)
def test_classes_without_images_spoil_nothing(name):
    logits, _ = answers(50)
    assert np.isfinite(metric.get(name)(logits, np.arange(50) % 2))


@pytest.mark.parametrize("name", THEIRS)
def test_intervals_cover_the_truth_about_as_often_as_they_say(name, monkeypatch):
    """Of 60 sets of 300 images each, 95 % of the intervals should contain the value on 60,000."""
    monkeypatch.setattr(metrics, "DRAWS", 200)
    of = metric.get(name)
    truth = of(*answers(60_000, seed=1))
    covered = 0
    for seed in range(2, 62):
        found = metrics.intervals(*answers(300, seed=seed), {"m": of})
        assert found["m_low"] <= found["m_high"]
        covered += found["m_low"] <= truth <= found["m_high"]
    assert covered >= 50  # 57 expected; fewer than 50 has a chance of one in a thousand


def test_the_same_draws_every_time():
    data = answers(100)
    of = {"m": metric.get("macro-f1")}
    assert metrics.intervals(*data, of) == metrics.intervals(*data, of)


def test_shown_in_report_and_leaderboard(tmp_path, replab, monkeypatch):
    from replab.report import write as report

    monkeypatch.setattr(report, "draw", lambda *_: [])
    small = {"lr": 0.01, "epochs": 2, "limit": 100, "params": {"widths": [8]}, "runs": tmp_path, "quiet": True}
    measured = api.run("mlp", metric="balanced-accuracy,brier", **small)
    api.run("fcn", **{**small, "params": {}})
    assert measured.epochs[-1]["test_brier"] == measured.metrics["brier"]
    assert "Brier score" in measured.report
    assert f"95 % interval {measured.metrics['brier_low']:.4g} to" in measured.report
    code, out, _ = replab("leaderboard", "--runs", tmp_path, "--sort", "brier")
    assert code == 0
    assert f"{measured.metrics['balanced_accuracy']:.4f}" in out
    first, second = (line for line in out.splitlines() if line.startswith(("mlp", "fcn")))
    assert first.startswith("mlp")  # the other has none
    assert second.count("–") >= 2
    _, table, _ = replab("leaderboard", "--runs", tmp_path, "--csv")
    assert table.splitlines()[0].endswith(",balanced_accuracy,brier")
    code, _, err = replab("leaderboard", "--runs", tmp_path, "--sort", "auroc")
    assert (code, "no column named 'auroc'" in err) == (2, True)


def test_too_few_classes(tmp_path):
    with pytest.raises(RecipeError, match="--metric top-5 needs at least 6 classes, got 2; leave it out"):
        api.prepare("mlp", metric="top-5", classes="0,1", limit=40)
