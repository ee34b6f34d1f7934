"""Trackers: what TensorBoard's and MLflow's own readers find of a run, and what is refused before it starts."""

import csv
import sys
import types

import pytest

from replab import api
from replab.records.events import Events
from replab.records.trackers import base

TINY = {"limit": 60, "lr": 1e-3, "epochs": 2, "params": {"widths": [8]}, "quiet": True}


@pytest.fixture(scope="module")
def tracked(tmp_path_factory):
    """One run that three trackers follow, MLflow's in SQLite on disk; then the same run resumed, which is finished."""
    folder = tmp_path_factory.mktemp("tracked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
        run = api.run("mlp", runs=folder / "runs", track=("csv", "tensorboard", "mlflow"), **TINY)
        api.resume(run.folder, track=("mlflow",), quiet=True)
    return run, folder


def test_csv_has_every_epoch(tracked):
    run, _ = tracked
    with open(run.folder / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [{key: float(value) for key, value in row.items()} for row in rows] == run.epochs


def test_tensorboard_reads_curves_and_final_numbers(tracked):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run, _ = tracked
    events = EventAccumulator(str(run.folder / "tensorboard")).Reload()
    read = [(event.step, event.value) for event in events.Scalars("test/loss")]
    assert read == [(i + 1, pytest.approx(row["test_loss"], rel=1e-6)) for i, row in enumerate(run.epochs)]
    assert events.Scalars("final/accuracy")[-1].value == pytest.approx(run.metrics["accuracy"], rel=1e-6)


def test_mlflow_reads_parameters_curves_and_the_end(tracked):
    from mlflow import MlflowClient

    run, folder = tracked
    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    (seen,) = client.search_runs([client.get_experiment_by_name("replab").experiment_id])  # resumed: still one
    assert (seen.info.run_name, seen.info.status) == (run.id, "FINISHED")
    assert seen.data.params["model"] == "mlp"
    assert seen.data.params["search.trials"] == "20"
    history = client.get_metric_history(seen.info.run_id, "train_loss")
    assert [one.step for one in history] == [1, 2]
    assert [one.value for one in history] == [row["train_loss"] for row in run.epochs]
    assert seen.data.metrics["final_accuracy"] == run.metrics["accuracy"]


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_those_that_share_one_interface_are_told_the_same(name, tmp_path, monkeypatch):
    """Against a stand-in: the packages are not among the tools of development."""
    told = []
    fake = types.ModuleType(name)
    fake.init = lambda **settings: types.SimpleNamespace(
        log=lambda numbers, step=None: told.append((step, numbers)),
        finish=lambda: told.append("finished"),
        summary=types.SimpleNamespace(update=lambda numbers: told.append((None, numbers))),
    )
    monkeypatch.setitem(sys.modules, name, fake)
    (tmp_path / "metrics.json").write_text('{"accuracy": 0.5}')
    events = Events()
    with base.following([name], tmp_path, {"model": "mlp"}, events):
        events.inside(trial=0).tell("epoch", epoch=1, total=1, row={"val_loss": 2.0})
        events.tell("epoch", epoch=1, total=1, row={"train_loss": 1.0})
    assert told == [(1, {"train_loss": 1.0}), (None, {"final_accuracy": 0.5}), "finished"]
    assert not events.subscribers


def test_a_tracker_that_fails_is_named_and_the_run_goes_on(tmp_path, monkeypatch):
    lines = []
    events = Events(types.SimpleNamespace(hear=lambda event: lines.append(event.facts.get("text"))))
    fake = types.ModuleType("wandb")
    fake.init = lambda **settings: 1 / 0
    monkeypatch.setitem(sys.modules, "wandb", fake)
    (tmp_path / "metrics.json").write_text("{}")
    with base.following(["wandb"], tmp_path, {}, events):
        events.message("going on")
    assert lines == ["wandb does not follow this run: ZeroDivisionError: division by zero", "going on"]


def test_unknown_and_missing_trackers_are_refused_before_anything_is_written(refuses, monkeypatch, a_run):
    assert "no tracker named 'tensorbord'. Did you mean 'tensorboard'?" in refuses("run", "--track", "tensorbord")
    monkeypatch.setattr(base, "installed", lambda package: False)
    line = refuses("run", "--track", "mlflow")
    assert "--track mlflow needs the package mlflow, not installed; pip install 'replab[trackers]'" in line
    runs = a_run.folder.parent
    assert "pip install trackio" in refuses("resume", a_run.id, "--track", "trackio", runs=runs)
