"""A run's values from its folder: arrays block by block, and files that are not what they should be."""

import json

import numpy as np
import pytest

from replab.errors import RunError
from replab.records.record import Record
from replab.records.values import Values, arrays
from replab.records.values.answers import log_likelihood, log_softmax, most_confident_mistakes, surety


@pytest.fixture
def record(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    return Record(folder)


def test_answers_are_those_of_the_whole_array(record, monkeypatch):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(57, 9)).astype(np.float32), rng.integers(0, 9, 57)
    record.write_predictions({"logits": logits, "labels": labels, "samples": np.zeros(3)})
    monkeypatch.setattr(arrays, "BLOCK", 40)  # four rows at a time
    answers = Values(record).answers
    np.testing.assert_array_equal(answers.predicted, logits.argmax(1))
    np.testing.assert_array_equal(answers.labels, labels)
    np.testing.assert_array_equal(answers.confidence, np.exp(log_softmax(logits.astype(np.float64)).max(1)))
    assert set(Values(record).arrays) == {"logits", "labels", "samples"}


def test_blocks_change_no_number(monkeypatch):
    rng = np.random.default_rng(1)
    logits, labels = rng.normal(size=(40, 7)).astype(np.float32) * 9, rng.integers(0, 7, 40)
    whole = log_softmax(logits.astype(np.float64))
    monkeypatch.setattr("replab.records.values.answers.BLOCK", 21)
    np.testing.assert_array_equal(surety(logits), whole.max(1))
    np.testing.assert_array_equal(log_likelihood(logits, labels), whole[np.arange(40), labels])
    wrong = most_confident_mistakes(logits, labels)
    assert (logits[wrong].argmax(1) != labels[wrong]).all()
    assert (np.diff(whole.max(1)[wrong]) <= 0).all()


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ({"logits": np.zeros((3, 2), np.float32), "labels": np.array([0, 1])}, "one label per logit row"),
        ({"logits": np.zeros((2, 2), np.float32), "labels": np.array([0, 7])}, "labels must be from 0 to 1"),
        ({"logits": np.zeros((2, 2), np.int64), "labels": np.array([0, 1])}, "must be floats"),
        ({"logits": np.zeros(2, np.float32), "labels": np.array([0, 1])}, "must be floats"),
    ],
)
def test_predictions_that_do_not_fit_are_refused(record, kept, words):
    record.write_predictions(kept)
    with pytest.raises(RunError, match=words):
        _ = Values(record).answers


def test_a_file_that_is_no_archive_is_named(record):
    record.write_bytes("predictions.npz", b"not a zip")
    with pytest.raises(RunError, match=r"predictions\.npz is corrupt"):
        _ = Values(record).answers
    record.write_bytes("explanations.npz", (record.folder / "predictions.npz").read_bytes())
    with pytest.raises(RunError, match=r"explanations\.npz is corrupt"):
        _ = Values(record).explanations


def test_a_leaderboard_names_and_skips_a_run_of_wrong_types(a_run, replab):
    import shutil

    other = a_run.folder.parent / "20260101-000000-mlp-digits"
    shutil.copytree(a_run.folder, other)
    record = Record(other)
    facts = json.loads((other / "facts.json").read_text())
    record.write_json("facts.json", {**facts, "inference_images_per_second": 1})
    record.write_json("metrics.json", {"accuracy": "high"})
    code, out, err = replab("leaderboard", "--runs", a_run.folder.parent, "--csv")
    assert code == 0
    assert a_run.id in out
    assert other.name not in out
    assert other.name in err
