"""From images to a report, on both libraries: every stage runs, the numbers agree, and the budget is kept."""

import json
import math
import shutil
from dataclasses import replace
from itertools import chain, count

import numpy as np
import pytest
import torch
from PIL import Image

from replab import api, pipeline
from replab.errors import DataError, ReplabError
from replab.records.events import Events
from replab.records.record import Record
from replab.records.values.answers import MISTAKES
from replab.report import terminal
from replab.report import write as report
from replab.settings.recipe import Recipe
from replab.tasks.classify import Classify
from replab.training import cost
from replab.training.experiment import Experiment


@pytest.fixture
def no_pictures(monkeypatch):
    monkeypatch.setattr(report, "draw", lambda *args: [])


SMALL = {
    "mlp": {"widths": [16]},
    "cnn": {"channels": [4, 8], "hidden": 16},
    "nanovit": {"width": 16, "heads": 2, "depth": 1, "ffn": 16},
    "fcn": {},
    "lenet": {},
    "resnet9": {},
}
CASES = [(name, "torch") for name in ("mlp", "cnn", "nanovit")] + [(name, "mytorch") for name in SMALL]


@pytest.mark.parametrize(("name", "backend"), CASES)
def test_every_stage(name, backend, tmp_path, no_pictures):
    size, limit = (12 if name == "lenet" else None), (30 if name == "resnet9" else 100)
    run = api.run(name, fast=True, backend=backend, params=SMALL[name], size=size, limit=limit, runs=tmp_path)
    assert run.finished
    assert len(run.trials) == 1
    assert len(run.epochs) == 1
    assert run.chosen.lr == run.trials[0]["params"]["lr"]
    assert 0 <= run.metrics["accuracy"] <= 1
    assert run.epochs[-1]["test_loss"] == pytest.approx(run.metrics["loss"], rel=1e-5)
    assert run.facts["macs"] > 0
    counted = [v.size for k, v in run.record.weights().items() if "running" not in k and "num_batches" not in k]
    assert run.facts["parameters"] == sum(counted)
    assert (run.folder / "report.md").read_text().startswith(f"# {name} on digits")
    pixels = np.zeros((8, 8), np.uint8)
    assert api.load_run(run.folder).predict(pixels) == run.predict(pixels)


def test_the_metrics_are_those_of_the_kept_predictions(finished_run):
    kept = finished_run.predictions
    assert Classify(torch, 10).measure(kept, kept["labels"]) == finished_run.metrics
    wrong = kept["mistake_index"]
    assert (kept["logits"][wrong].argmax(1) != kept["labels"][wrong]).all()
    assert len(wrong) == min(MISTAKES, int((kept["logits"].argmax(1) != kept["labels"]).sum()))


def test_the_report_has_everything(finished_run):
    text = finished_run.report
    for item in (
        "learning rate", "epochs", "batch size", "model", "parameters", "duration", "device", "test loss",
        "test accuracy", "MACs per image", "peak memory", "images per second", "versions", "repeat with",
        "calibration error", "seed", "## By class", "## Structure", "figures/curves.png", "figures/search.png",
        "figures/confusion.png", "figures/gallery.png", "figures/structure.png", "torch 2.", "Linear",
    ):  # fmt: skip
        assert item in text, item
    said = dict(terminal.lines(finished_run.record))
    assert said["parameters"] == "1,210"
    assert f"{finished_run.metrics['accuracy']:.2%}" in said["test accuracy"]
    assert said["repeat with"].startswith("replab run")
    assert "never by test images" in said["chosen by"]


def test_figures_are_pictures_of_something(finished_run):
    assert {"curves", "search", "confusion", "gallery", "structure", "calibration"} <= finished_run.figures.keys()
    for name, picture in finished_run.figures.items():
        assert picture._repr_png_().startswith(b"\x89PNG")
        assert np.asarray(Image.open(picture.path).convert("L")).std() > 3, f"{name} is blank"
    assert finished_run.figures._repr_html_().count("<img") == len(finished_run.figures)
    assert "test accuracy" in finished_run._repr_markdown_()


def test_predict_takes_paths_pictures_and_arrays(finished_run, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (8, 8), dtype=np.uint8)
    picture = Image.fromarray(pixels)
    picture.save(tmp_path / "a.png")
    same = [pixels, pixels[None], pixels[..., None], picture, str(tmp_path / "a.png"), tmp_path / "a.png",
            picture.convert("RGB"), np.stack([pixels] * 3, -1), np.stack([pixels] * 3)]  # fmt: skip
    found = finished_run.predict(same)
    assert all(each == found[0] for each in found)
    assert sum(found[0].probabilities.values()) == pytest.approx(1)
    assert found[0].probability == max(found[0].probabilities.values())
    assert finished_run.predict(picture.resize((20, 31))).label in finished_run.input["classes"]
    assert finished_run.predict(picture.convert("CMYK")).label in finished_run.input["classes"]
    for wrong in (np.zeros((8, 8)), np.zeros((2, 3, 8, 8), np.uint8), np.zeros(8, np.uint8)):
        with pytest.raises(DataError, match="an image array must be"):
            finished_run.predict(wrong)


def test_test_images_are_predicted_as_they_were_evaluated(finished_run):
    from replab.data.load import load

    test = load("digits", limit=150).test
    said = [each.label for each in finished_run.predict([*test.pixels[:20]])]
    expected = finished_run.predictions["logits"][:20].argmax(1)
    assert said == [finished_run.input["classes"][i] for i in expected]


def test_resuming_a_finished_run_changes_nothing_but_the_report(a_run, no_pictures):
    names = ("study.jsonl", "epochs.jsonl", "model.safetensors", "predictions.npz", "metrics.json")
    before = {name: (a_run.folder / name).stat().st_mtime_ns for name in names}
    assert api.resume(a_run.folder).metrics == a_run.metrics
    assert {name: (a_run.folder / name).stat().st_mtime_ns for name in names} == before


def test_the_repeated_run_has_the_same_numbers(a_run, tmp_path, no_pictures):
    again = api.run(recipe=a_run.recipe, runs=tmp_path / "again")
    assert again.epochs == a_run.epochs
    assert again.trials == a_run.trials
    assert again.metrics == a_run.metrics


def test_a_function_of_a_session(tmp_path, no_pictures):
    from torch import nn

    def linear(image):
        return nn.Sequential(nn.Flatten(), nn.Linear(image.height * image.width, image.classes))

    run = api.run(linear, lr=1e-3, epochs=1, limit=50, runs=tmp_path)
    assert run.chosen.model.startswith("python:")
    assert run.predict(np.zeros((8, 8), np.uint8)).label
    assert "nn.Linear(image.height" in (run.folder / "model_file.txt").read_text()
    assert api.resume(run.folder, model=linear).metrics == run.metrics


@pytest.fixture
def a_second_per_epoch(monkeypatch):
    """As the cost of an epoch, in trials and in training: no test waits for a budget."""
    measure = cost.measure

    def seconds(experiment):
        return replace(measure(experiment), epoch_seconds=1.0, trial_epoch_seconds=1.0)

    monkeypatch.setattr(cost, "measure", seconds)


def budgeted(tmp_path, budget, **changes):
    settings = {"limit": 60, "params": {"widths": [4]}, "runs": tmp_path, "budget": budget, **changes}
    search = {"trials": 6, "max_epochs": 4, "fraction": 1.0, "min_validation": 15}
    return api.run("mlp", **{**settings, "search": {**search, **settings.get("search", {})}})


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_the_budget_ends_the_search_in_time_to_train(tmp_path, a_second_per_epoch, no_pictures, batch):
    run = budgeted(tmp_path, budget=16.0, search={"batch": batch})
    assert 1 <= len(run.trials) < 6
    spent = sum(len(trial["losses"]) for trial in run.trials) + len(run.epochs)
    assert spent <= 16
    cuts = json.loads((run.folder / "cuts.json").read_text())
    assert cuts == [f"the budget ended the search after {len(run.trials)} of 6 trials"]
    assert "the budget ended the search" in run.report
    assert run.epochs
    assert run.finished


def test_the_clock_does_not_decide_what_a_budget_pays_for(tmp_path, a_second_per_epoch, monkeypatch, no_pictures):
    """A thousand seconds go by between any two looks at the clock: the trials and epochs are the same."""
    one = budgeted(tmp_path / "one", budget=14.5)
    ticks = chain([0.0, 0.0], count(1000.0, 1000.0))  # until the allowance is decided, no time passes
    monkeypatch.setattr(pipeline, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(pipeline.Clock, "is_over", lambda clock, epoch: False)  # the training's emergency brake
    two = budgeted(tmp_path / "two", budget=14.5)
    assert [t["losses"] for t in one.trials] == [t["losses"] for t in two.trials]
    assert one.epochs == two.epochs


def test_a_resumed_run_goes_by_the_allowance_it_began_with(tmp_path, a_second_per_epoch, monkeypatch, no_pictures):
    one = budgeted(tmp_path, budget=14.0)
    folder = tmp_path / "again"
    shutil.copytree(one.folder, folder)
    for name in ("chosen.toml", "model.safetensors", "metrics.json", "epochs.jsonl", "manifest.jsonl"):
        (folder / name).unlink()
    lines = (folder / "study.jsonl").read_text().splitlines(keepends=True)
    (folder / "study.jsonl").write_text("".join(lines[:1]))
    monkeypatch.undo()  # an epoch costs what it costs
    two = api.resume(folder)
    assert (folder / "study.jsonl").read_text() == "".join(lines)
    assert two.epochs == one.epochs


def test_the_budget_cuts_the_training(tmp_path, a_second_per_epoch, no_pictures):
    run = budgeted(tmp_path, budget=5.5, lr=1e-3, epochs=50)
    assert len(run.epochs) == 5
    assert "the budget cut the training from 50 to 5 epochs" in run.report


def test_a_training_that_costs_more_than_measured_is_ended(tmp_path, a_second_per_epoch, monkeypatch, no_pictures):
    monkeypatch.setattr(pipeline.Clock, "is_over", lambda clock, epoch: True)
    run = budgeted(tmp_path, budget=30.0, lr=1e-3, epochs=20)
    assert len(run.epochs) == 1
    assert "the budget ended the training after 1 of 20 epochs" in run.report


def test_failing_trials_end_with_the_budget_too(tmp_path, a_second_per_epoch, monkeypatch, no_pictures):
    monkeypatch.setattr(Experiment, "fit", lambda *_, **__: iter([({"epoch": 1.0, "val_loss": math.nan}, {})]))
    with pytest.raises(ReplabError, match=r"no trial of 4 finished \(validation loss is nan"):
        budgeted(tmp_path, budget=5.5)


def test_enough_budget_cuts_nothing(tmp_path, no_pictures):
    run = budgeted(tmp_path, budget=3600.0)
    assert len(run.trials) == 6
    assert json.loads((run.folder / "cuts.json").read_text()) == []
    assert not [name for name, _ in terminal.lines(run.record) if name == "cut"]


def test_the_clock_counts_what_was_spent_before(tmp_path):
    record = Record(tmp_path)
    record.write_lines("times.jsonl", [{"stage": "search", "seconds": 7.0}, {"stage": "train", "seconds": 2.0}])
    assert pipeline.Clock(record, 10.0).left() <= 1.0
    assert pipeline.Clock(record, None).left() == math.inf


def test_what_it_will_cost_is_said_before(tmp_path, no_pictures):
    class Heard(list):
        hear = list.append

    heard = Heard()
    api.run("mlp", fast=True, params={"widths": [4]}, runs=tmp_path, events=Events(heard))
    kinds = [event.kind for event in heard]
    cost = heard[0].facts["text"]
    assert cost.startswith("cost: ")
    for part in ("ms per batch of 128", "per epoch", "search at most", "training at most", "memory"):
        assert part in cost
    assert kinds[:2] == ["cost", "run"]
    for kind in ("begin", "trial", "epoch", "stage", "end", "message"):
        assert kind in kinds
    assert kinds.count("trial") == 1
    json.dumps([event._asdict() for event in heard])  # plain values


def test_the_reported_model_is_the_last_epochs(tmp_path, no_pictures):
    run = api.run("mlp", lr=1e-3, epochs=3, limit=80, params={"widths": [8]}, runs=tmp_path)
    assert run.trials == []
    assert run.metrics["loss"] == pytest.approx(run.epochs[-1]["test_loss"])
    assert run.recipe == Recipe(model="mlp", params={"widths": [8]}, lr=1e-3, epochs=3, limit=80)
