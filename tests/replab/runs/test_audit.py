"""Each sentence of the audit, on a run that was spoilt in just that way."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch import nn

from replab import api
from replab.data.images import Images, ImageSpec
from replab.data.inspect import compare_halves
from replab.data.load import load
from replab.errors import RecipeError
from replab.pipeline import unsteadiness
from replab.records.events import Events
from replab.runs import audit, retest
from replab.settings.recipe import Recipe
from replab.training import prepare as setup


def sentences(run, others=(), warning=None):
    return [f.sentence for f in audit.audit(run, others) if warning is None or f.warning is warning]


def spoil(run, file, **changes):
    run.record.write_json(file, {**run.record.read_json(file, {}), **changes})


def test_a_plain_run_is_told_what_was_checked(a_run):
    found = sentences(a_run)
    assert any("also training images" in s for s in found)
    assert any("eval mode" in s for s in found)
    assert [s for s in sentences(a_run, warning=True) if "One seed" in s]


@pytest.mark.parametrize(
    ("file", "changes", "words"),
    [
        ("input.json", {"shared_images": 7}, "7 of"),
        ("input.json", {"train_pixel_mean": 0.3, "test_pixel_mean": 76.0, "train_pixel_std": 0.2}, "same scale"),
        ("facts.json", {"unsteadiness": 0.2}, "still in train mode"),
        ("split.json", {"train_images": 10}, "times the updates"),
    ],
)
def test_a_fault_is_a_warning_with_its_figure(a_run, file, changes, words):
    assert not [s for s in sentences(a_run, warning=True) if words in s]
    spoil(a_run, file, **changes)
    assert [s for s in sentences(a_run, warning=True) if words in s]


def test_the_edge_of_the_searched_range(a_run):
    low, _ = a_run.chosen.search.lr
    a_run.record.write_text("chosen.toml", a_run.chosen.replace(lr=low * 1.01).to_toml())
    assert any("may lie outside" in s for s in sentences(a_run, warning=True))


def test_trials_that_validation_cannot_tell_apart(a_run):
    trials = [t.__class__(**{**t.to_dict(), "state": "complete", "error": 100.0}) for t in a_run.record.trials()]
    a_run.record.write_trials(trials)
    assert any("cannot tell them apart" in s for s in sentences(a_run, warning=True))


def test_a_budget_cut_is_repeated(a_run):
    a_run.record.write_json("cuts.json", ["the budget ended the search after 2 of 9 trials"])
    assert any("2 of 9 trials" in s for s in sentences(a_run, warning=True))


def test_other_seeds_and_rivals(a_run, tmp_path):
    again = api.run(recipe=a_run.recipe.replace(seed=1), runs=a_run.folder.parent)
    found = sentences(a_run, [again, a_run])
    assert any(s.startswith("2 seeds") for s in found)
    rival = api.run("fcn", limit=150, lr=1e-3, epochs=1, runs=tmp_path)
    assert any("Against fcn" in s and "p = " in s for s in sentences(a_run, [rival]))


class AlwaysTraining(nn.Module):
    """BatchNorm that forgets eval mode: an answer depends on the batch it came in."""

    def __init__(self, image: ImageSpec):
        super().__init__()
        self.norm = nn.BatchNorm2d(image.channels, track_running_stats=False)
        self.head = nn.Linear(image.channels * image.height * image.width, image.classes)

    def forward(self, x):
        return self.head(self.norm(x).flatten(1))


def test_a_model_left_in_train_mode_is_found(tmp_path):
    run = api.run(AlwaysTraining, limit=150, lr=1e-3, epochs=1, runs=tmp_path)
    assert any("still in train mode" in s for s in sentences(run, warning=True))


def test_shared_images_are_counted(tmp_path):
    data = load("digits", limit=50)
    both = data.__class__(data.name, data.train, data.train.subset(slice(0, 9)), "x")
    found = compare_halves(both)
    assert found["shared_images"] == 9


def test_retest_trains_the_neighbours_and_never_sees_test_images(a_run):
    ready = setup.reopen(a_run.record)
    blind = dataclasses.replace(ready.data, test=None)  # reading it would fail
    ready = dataclasses.replace(ready, data=blind)
    found = retest.retest(a_run, ready, Events())
    assert [round(r.lr / a_run.chosen.lr, 3) for r in found] == [0.333, 1.0, 3.0]
    assert all(math.isfinite(r.loss) and r.error > 0 for r in found)


def test_a_run_from_before_a_rule_is_reopened(a_run, monkeypatch):
    """An augmentation as large as the image is refused in a new run, not in one that was made with it."""
    old = a_run.record.recipe().replace(augment=("crop=99",))
    monkeypatch.setattr(type(a_run.record), "recipe", lambda record: old)
    assert setup.reopen(a_run.record).recipe.augment == ("crop=99",)
    with pytest.raises(RecipeError, match="the pad must be below 8 pixels"):
        setup.prepare(old)


def test_the_retest_sentence_knows_both_answers():
    near = [retest.Retest(1e-4, 0.50, 0.02, 3), retest.Retest(3e-4, 0.49, 0.02, 3), retest.Retest(9e-4, 0.48, 0.02, 3)]
    far = [*near[:2], retest.Retest(9e-4, 0.30, 0.02, 3)]
    assert not retest.retest_sentence(near).warning
    assert retest.retest_sentence(far).warning
    assert "better by 0.19" in retest.retest_sentence(far).sentence


def test_the_command_prints_warnings_first(replab, a_run):
    code, out, _ = replab("audit", a_run.id, "--runs", a_run.folder.parent)
    marks = [line[0] for line in out.splitlines()]
    assert code == 0
    assert marks == sorted(marks, reverse=True)
    assert marks[0] == "!"
    assert "What might be wrong" in a_run.report


def test_steadiness_is_measured_against_the_first_answers():
    ready = setup.prepare(Recipe(model="mlp", limit=40))
    model = ready.model().eval()
    batches = ready.batches(ready.data.train, model)
    with torch.no_grad():
        first = np.concatenate([model(b.x).numpy() for b in batches.epoch(0)])
    again = ready.evaluate(model, ready.data.train.subset(slice(0, 16))).outputs["logits"]
    assert unsteadiness(again, first) < 1e-5
    assert unsteadiness(again, first + 1) > 1e-3


def test_images_in_the_order_of_their_classes_are_at_one_scale():
    """The first of them are of one class, and classes differ in brightness."""
    data = load("digits", limit=50)
    pixels = np.repeat(np.arange(0, 250, 50, dtype=np.uint8), 1000)[:, None, None, None] * np.ones((1, 8, 8), np.uint8)
    train = Images(pixels, np.repeat(np.arange(5), 1000), tuple("abcde"), (0.0,), (1.0,))
    sorted_ = data.__class__("sorted", train, train.subset(slice(0, None, 10)), "x")
    found = compare_halves(sorted_)
    assert abs(found["train_pixel_mean"] - found["test_pixel_mean"]) < 5
