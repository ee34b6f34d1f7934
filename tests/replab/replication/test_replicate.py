"""replab replicate: planning, finding what is done, resuming, the budget, measurements, the command line."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from listening import Lines
from published_tiny import load

from replab import api, pipeline
from replab.errors import DataError, RecipeError
from replab.records.events import Events
from replab.replication import carry_out as carrying
from replab.replication import ledger, measures, results
from replab.replication import replicate as replication
from replab.replication.entry import SEARCH, Entry, identity
from replab.replication.packs import published
from replab.report import write as report
from replab.training import cost
from replab.training import prepare as setup

KNOWN = published()
CONV1, WD4 = KNOWN.rows["mnist-lab/conv1"], KNOWN.rows["mnist-lab/conv1-wd4"]
NOT_RUN = next(row for row in KNOWN.rows.values() if row.not_run)


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(setup, "load", load)
    monkeypatch.setattr("replab.data.source.check", lambda name: None)  # the published names are tiny sets here
    monkeypatch.setattr("replab.data.source.check_reachable", lambda name: None)
    monkeypatch.setattr(report, "draw", lambda *args: [])  # pictures have their own tests


@pytest.fixture
def carry_out(tmp_path):
    """jobs → outcome, in folders of their own; carry_out.said are the lines it told."""

    def call(jobs, **more):
        call.said = Lines()
        return replication.replicate(
            jobs, KNOWN, results=tmp_path / "results", runs=tmp_path / "runs", events=Events(call.said), **more
        )

    return call


# -- planning --------------------------------------------------------------------------------------------------------


def test_first_seeds_come_before_second_ones():
    jobs = replication.plan([CONV1, WD4], seeds=2)
    assert [(j.row.id, j.recipe.seed) for j in jobs] == [
        (CONV1.id, 3407), (WD4.id, 3407), (CONV1.id, 3408), (WD4.id, 3408)]  # fmt: skip


def test_commands_repeat_the_job_anywhere():
    job = replication.plan([KNOWN.rows["notes/mlp"]], seeds=2, data="/some/where/cifar10-jpeg", epochs=3)[1]
    assert job.command == "replab replicate notes/mlp --seeds 2 --data cifar10-jpeg --epochs 3"
    assert (job.recipe.epochs, job.recipe.data) == (3, "/some/where/cifar10-jpeg")
    search = replication.plan([KNOWN.rows["notes/mlp"]], search=True)[0]
    assert search.command == "replab replicate notes/mlp --seeds 1 --search"
    assert search.recipe.lr is None
    few = replication.plan([KNOWN.rows["notes/dcgan"]], data="mnist", size=28, limit=9000, epochs=5)[0]
    assert few.command == "replab replicate notes/dcgan --seeds 1 --data mnist --size 28 --limit 9000 --epochs 5"
    assert (few.recipe.size, few.recipe.limit) == (28, 9000)


def test_impossible_wishes_are_refused():
    with pytest.raises(RecipeError, match="seeds must be at least 1"):
        replication.plan([CONV1], seeds=0)
    with pytest.raises(RecipeError, match="--search finds the epochs"):
        replication.plan([KNOWN.rows["notes/mlp"]], search=True, epochs=3)
    with pytest.raises(RecipeError, match="fixed settings"):
        replication.plan([CONV1], search=True)
    assert replication.plan([NOT_RUN]) == []


# -- carrying out ----------------------------------------------------------------------------------------------------


def test_finished_seeds_are_kept_and_found_again(carry_out, tmp_path):
    carry_out(replication.plan([CONV1], epochs=1))
    kept = results.read(tmp_path / "results")
    assert [(e.id, e.seed, e.epochs, e.data) for e in kept] == [(CONV1.id, 3407, 1, "mnist")]
    assert set(replication.ALWAYS) <= set(kept[0].values)
    assert "1 of 30 epochs" in (tmp_path / "results" / "LEDGER.md").read_text()

    outcome = carry_out(replication.plan([CONV1], epochs=1, seeds=2))  # one more seed: only that one is run
    assert [e.seed for e in outcome.finished] == [3407, 3408]
    assert len(list((tmp_path / "runs").iterdir())) == 2

    (tmp_path / "results" / "rows.jsonl").unlink()  # the run folders still know
    again = carry_out(replication.plan([CONV1], epochs=1, seeds=2))
    assert sum("found finished" in line for line in carry_out.said) == 2
    assert [e.values for e in again.finished] == [e.values for e in outcome.finished]


def test_an_interrupted_run_is_resumed_and_ends_the_same(carry_out, tmp_path, monkeypatch):
    whole = api.run(recipe=CONV1.recipe.replace(epochs=3), runs=tmp_path / "elsewhere", quiet=True)
    calls = []

    def interrupt(*args, **more):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return write_checkpoint(*args, **more)

    write_checkpoint = pipeline.Record.write_checkpoint
    monkeypatch.setattr(pipeline.Record, "write_checkpoint", interrupt)
    with pytest.raises(KeyboardInterrupt):
        carry_out(replication.plan([CONV1], epochs=3))
    monkeypatch.setattr(pipeline.Record, "write_checkpoint", write_checkpoint)
    outcome = carry_out(replication.plan([CONV1], epochs=3))
    assert any(line.startswith("resuming") for line in carry_out.said)
    assert len(list((tmp_path / "runs").iterdir())) == 1
    assert outcome.finished[0].values["test_accuracy"][0] == 100 * whole.metrics["accuracy"]
    assert outcome.finished[0].values["train_loss"][0] == whole.epochs[-1]["train_loss"]


def test_fast_runs_are_measured_and_not_kept(carry_out, tmp_path):
    outcome = carry_out(replication.plan([CONV1]), fast=True)
    assert outcome.finished[0].epochs == 1
    assert not (tmp_path / "results").exists()


def entry(job) -> Entry:
    return Entry(job.row.id, job.way, job.recipe.seed, dict.fromkeys(replication._wanted(job.row), (1.0, None)),
                        "mnist", 1, 0.1, 1.0, "a CPU", "abc", job.command, identity(job.recipe))  # fmt: skip


def test_the_budget_does_what_fits_and_says_what_did_not(carry_out, monkeypatch):
    seconds = {CONV1.recipe.weight_decay: 500.0, WD4.recipe.weight_decay: 30.0}

    def measure(ready):
        return SimpleNamespace(train_seconds=seconds[ready.recipe.weight_decay], search_seconds=0.0)

    monkeypatch.setattr(cost, "measure", measure)
    monkeypatch.setattr(carrying, "_carry_out", lambda *args: SimpleNamespace(facts={"parameters": 9}))
    monkeypatch.setattr(replication, "measure", lambda run, job: entry(job))
    outcome = carry_out(replication.plan([CONV1, WD4], seeds=2), budget=100.0)
    assert [(e.id, e.seed) for e in outcome.finished] == [(WD4.id, 3407), (WD4.id, 3408)]
    assert [(job.row.id, job.recipe.seed) for job, _ in outcome.left_out] == [(CONV1.id, 3407), (CONV1.id, 3408)]
    assert outcome.left_out[0][1].startswith("needs 8m20s, and 1m40s of the budget is left")


def test_a_row_that_cannot_be_run_is_left_out_and_the_others_go_on(carry_out, monkeypatch):
    def absent(name, **more):
        if name == "cifar10":
            raise DataError("no cifar10 here")
        return load(name, **more)

    monkeypatch.setattr(setup, "load", absent)
    mlp = KNOWN.rows["notes/mlp"]
    outcome = carry_out(replication.plan([mlp, CONV1], epochs=1))
    assert [e.id for e in outcome.finished] == [CONV1.id]
    assert [(job.row.id, why) for job, why in outcome.left_out] == [(mlp.id, "no cifar10 here")]
    outcome = carry_out(replication.plan([mlp, KNOWN.rows["notes/cnn"]]), budget=60.0)
    assert len(outcome.left_out) == 2
    with pytest.raises(DataError, match="no cifar10 here"):  # alone, it is the whole answer
        carry_out(replication.plan([mlp]))


def test_another_variant_carries_its_name(carry_out, tmp_path):
    mlp = KNOWN.rows["notes/mlp"]
    outcome = carry_out(replication.plan([mlp], data="cifar10-jpeg", epochs=1))
    assert outcome.finished[0].data == "cifar10-jpeg"
    line = next(line for line in ledger.lines(KNOWN, outcome.finished) if line["n"])
    assert line["verdict"] == "not comparable"
    assert line["reason"].startswith("on cifar10-jpeg, not cifar10; ")


def test_a_whole_search(carry_out):
    mlp = KNOWN.rows["notes/mlp"]
    outcome = carry_out(replication.plan([mlp], search=True), fast=True)
    assert outcome.finished[0].way == SEARCH
    assert 4e-5 < outcome.finished[0].lr < 2e-2


# -- measurements ----------------------------------------------------------------------------------------------------


def made_up_run() -> SimpleNamespace:
    epochs = [{"test_accuracy": a, "train_accuracy": 0.5, "train_loss": 1.5} for a in (0.6, 0.9, 0.8)]
    kept = {"logits": np.log(np.array([[0.5, 0.5], [0.9, 0.1]])), "labels": np.array([0, 0])}
    return SimpleNamespace(
        metrics={"accuracy": 0.8, "loss": 0.4, "loss_se": 0.2}, input={"test_images": 100, "train_images": 400},
        epochs=epochs, predictions=kept, chosen=SimpleNamespace(loss="cross-entropy"),
    )  # fmt: skip


def test_measures_of_a_made_up_run():
    run = made_up_run()
    found = {name: tuple(measures.MEASURES[name].of(run)) for name in replication.ALWAYS}
    assert found["test_accuracy"] == pytest.approx((80.0, 4.0))
    assert found["best_test_accuracy"] == pytest.approx((90.0, 3.0))
    assert found["first_epoch_accuracy"][0] == pytest.approx(60.0)
    assert found["train_accuracy"] == pytest.approx((50.0, 2.5))
    assert found["train_loss"] == (1.5, None)
    assert found["test_loss"] == (0.4, 0.2)


def test_the_published_evaluation_of_resnet8_by_hand(tmp_path):
    """Pixels of 0..255, BatchNorm on the batch; the model on disk is not changed by it."""
    import torch

    row = KNOWN.rows["mnist-lab/resnet8"]
    run = api.run(recipe=row.recipe.replace(epochs=2), runs=tmp_path, quiet=True)
    weights = run.record.path("model.safetensors").read_bytes()
    test = load("mnist").test
    pixels, labels = torch.from_numpy(test.pixels).float(), torch.from_numpy(test.labels)
    for name, training, x in (
        ("train_mode_unscaled_accuracy", True, pixels),
        ("unscaled_accuracy", False, pixels),
        ("train_mode_accuracy", True, pixels / 255),
        ("test_accuracy", False, pixels / 255),
    ):
        model = setup.reopen(run.record).trained(run.record, run.chosen).train(training)
        with torch.no_grad():
            wanted = (model(x).argmax(1) == labels).float().mean()  # 12 images: one batch
        assert measures.MEASURES[name].of(run).value == pytest.approx(100 * float(wanted)), name
    assert run.record.path("model.safetensors").read_bytes() == weights


# -- the command line ------------------------------------------------------------------------------------------------


def test_command_line(replab, tmp_path):
    folders = ("--results", tmp_path / "results", "--runs", tmp_path / "runs")
    code, out, err = replab("replicate", "mnist-lab/conv1*", NOT_RUN.id, "--epochs", 1, "--workers", 1, *folders)
    assert code == 0, err
    assert out.count("indication: 1 of 30 epochs") >= 5
    assert f"not run: {NOT_RUN.id}: {NOT_RUN.not_run}" in out
    code, out, _ = replab("replicate", "--list", *folders)
    assert code == 0
    assert all(name in out for name in ("mnist-lab/conv1-lr05", "notes/dcgan", "The learning rate changes the speed"))
    before = (tmp_path / "results" / "LEDGER.md").read_text()
    (tmp_path / "results" / "LEDGER.md").write_text("edited by hand")
    assert replab("replicate", "--ledger", *folders)[0] == 0
    assert (tmp_path / "results" / "LEDGER.md").read_text() == before


def test_command_line_says_what_was_left_out(replab, tmp_path, monkeypatch):
    monkeypatch.setattr(cost, "measure", lambda ready: SimpleNamespace(train_seconds=60.0, search_seconds=0.0))
    code, out, _ = replab(
        "replicate",
        "mnist-lab/conv1",
        "--seeds",
        2,
        "--budget",
        "30s",
        "--results",
        tmp_path,
        "--runs",
        tmp_path / "runs",
    )
    assert code == 0
    assert out.count("left out: mnist-lab/conv1 (published settings, seed 340") == 2
    assert not (tmp_path / "runs").exists()


def test_command_line_refuses(refuses, tmp_path):
    own = ("--results", tmp_path / "results")
    assert "no published row named 'lab9/resnet'" in refuses("replicate", "lab9/resnet", *own)
    assert f"{NOT_RUN.id} cannot be run" in refuses("replicate", NOT_RUN.id, *own)
    assert "a time is written" in refuses("replicate", "mnist-lab/conv1", "--budget", "soon", *own)


def test_hardware_names_the_processor_or_the_gpu():
    cpu = {"device": "cpu", "processor": "A CPU", "threads": 1}
    assert replication.hardware(cpu) == "A CPU, 1 thread"
    assert replication.hardware({**cpu, "threads": 2}) == "A CPU, 2 threads"
    assert replication.hardware({**cpu, "device": "A GPU"}) == "A GPU"


def test_tightness_is_the_spread_inside_clusters_over_that_of_all():
    made = SimpleNamespace(
        predictions={
            "embedding": np.array([[0.0, 0], [2, 0], [10, 0], [12, 0]]),
            "embedding_index": np.array([0, 1, 2, 4]),
            "cluster": np.array([1, 1, 0, 1, 0]),
        }
    )
    # every point is 1 from its cluster's centre, and 6 or 4 from the middle of all
    assert measures.tsne_tightness(made).value == pytest.approx((4 / 104) ** 0.5)
