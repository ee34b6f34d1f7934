"""The run folder: atomic, each run its own, and read without executing anything."""

import errno
import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from replab import api
from replab.errors import FileError, ReplabError, RunError
from replab.records.record import MARK, Record, check_writable
from replab.records.trial import Trial
from replab.report import terminal
from replab.report import write as report
from replab.settings.recipe import Recipe

HERE = {"replab": "0", "python": "3", "packages": {}, "device": "cpu", "processor": "x", "threads": 1}


def new(runs, **recipe):
    return Record.create(runs, Recipe(**recipe), HERE)


def weights_only(path):
    return torch.load(path, weights_only=True)


def test_runs_of_the_same_second_get_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "strftime", lambda form: "20200101-000000-")
    folders = [new(tmp_path).folder.name for _ in range(3)]
    assert folders == ["20200101-000000-cnn-digits", "20200101-000000-cnn-digits-2", "20200101-000000-cnn-digits-3"]


def make_runs(folder, barrier, names):
    time.strftime = lambda form: "20200101-000000-"
    barrier.wait()
    names.put([new(folder).folder.name for _ in range(10)])


def test_two_processes_never_share_a_folder(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier, names = context.Barrier(2), context.Queue()
    both = [context.Process(target=make_runs, args=(tmp_path, barrier, names)) for _ in range(2)]
    for process in both:
        process.start()
    made = names.get(timeout=60) + names.get(timeout=60)
    for process in both:
        process.join()
    assert len(set(made)) == 20
    assert all((tmp_path / name / "environment.json").is_file() for name in made)


def test_names_say_model_and_data_and_stay_inside(tmp_path):
    record = new(tmp_path, model="../my nets/net.py:Build It", data="../photos/cats & dogs.zip")
    assert record.folder.parent == tmp_path
    assert record.id.endswith("-net-cats_dogs")


def test_found_by_id_or_path(tmp_path):
    record = new(tmp_path)
    assert Record.open(record.id, tmp_path).folder == record.folder
    assert Record.open(record.folder, tmp_path / "elsewhere").folder == record.folder
    assert Record.open(record.id, tmp_path).recipe() == Recipe()
    with pytest.raises(RunError, match=rf"no run '{record.id}x' in .*Did you mean '{record.id}'\?"):
        Record.open(record.id + "x", tmp_path)
    assert [r.id for r in Record.all(tmp_path)] == [record.id]
    assert Record.all(tmp_path / "none") == []
    with pytest.raises(RunError, match=r"no run 'x': there is no folder .*none; --runs FOLDER names another"):
        Record.open("x", tmp_path / "none")
    with pytest.raises(RunError, match="no run ''"):
        Record.open("", tmp_path)


def test_found_by_the_beginning_of_an_id_and_as_the_latest(tmp_path, monkeypatch):
    made = []
    for second in ("20200101-000009-", "20200101-000010-", "20200101-000010-"):
        monkeypatch.setattr(time, "strftime", lambda form, second=second: second)
        made.append(new(tmp_path).id)
    assert Record.open("latest", tmp_path).id == made[2]
    assert Record.open("20200101-000009", tmp_path).id == made[0]
    assert Record.open(made[1], tmp_path).id == made[1]  # though another one begins like it
    with pytest.raises(RunError, match=rf"'2020' is the beginning of 3 runs, {made[0]}, {made[1]} …; type more of it"):
        Record.open("2020", tmp_path)


def test_reading_runs_needs_neither_torch_nor_optuna():
    code = "import sys, replab.records.record; print({'torch', 'optuna', 'matplotlib'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_a_recipe_is_parsed_once(tmp_path, monkeypatch):
    record = Record.open(new(tmp_path).id, tmp_path)
    first = record.recipe()
    monkeypatch.setattr(Recipe, "from_toml", None)
    assert record.recipe() is first
    monkeypatch.undo()
    record.write_text("recipe.toml", Recipe(model="mlp").to_toml())
    assert record.recipe().model == "mlp"


@pytest.mark.parametrize("content", [None, "{}", "[]", '{"kind": "other"}', '"replab-run"', "{", ""])
def test_a_foreign_folder_is_refused(tmp_path, content):
    (tmp_path / "photos").mkdir()
    if content is not None:
        (tmp_path / "photos" / "environment.json").write_text(content)
    with pytest.raises(RunError, match="photos"):
        Record.open("photos", tmp_path)


def test_create_leaves_nothing_when_it_fails(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file", tmp_path / "file" / "runs"):
        with pytest.raises(RunError, match=r"cannot write runs to .*; --runs FOLDER names another"):
            new(place)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(FileError, match="No space left on device"):
            new(tmp_path / "runs")
    assert os.listdir(tmp_path / "runs") == []


def test_what_is_written_is_read_back(tmp_path):
    record = new(tmp_path)
    trials = [Trial(0, {"lr": 0.1 + 0.2}, "complete", 1 / 3, 2, 0.1, [0.5, 1 / 3]), Trial(1, {}, "failed", reason="x")]
    record.write_trials(trials)
    assert record.trials() == trials
    weights = {"a.b": np.arange(6, dtype=np.float32).reshape(2, 3).T, "n": np.array(3)}
    record.write_weights(weights)
    for name, value in record.weights().items():
        np.testing.assert_array_equal(value, weights[name])
    record.write_predictions({"logits": np.eye(3)})
    np.testing.assert_array_equal(record.predictions()["logits"], np.eye(3))
    assert record.read_lines("none.jsonl") == []
    assert not list(record.folder.glob("*.tmp"))


def test_an_unfinished_run_says_how_to_finish_it(tmp_path):
    record = new(tmp_path)
    for read in (record.weights, record.predictions, lambda: report.write(record)):
        with pytest.raises(RunError, match=f"replab resume {record.id} finishes it"):
            read()


class Hostile:
    def __reduce__(self):
        return (os.mkdir, (os.environ["HOSTILE"],))


def test_hostile_files_are_refused_and_not_run(a_run, tmp_path, monkeypatch):
    """A run folder from a stranger: pickles in the place of checkpoint, weights and predictions."""
    monkeypatch.setenv("HOSTILE", str(tmp_path / "executed"))
    pickled = pickle.dumps(Hostile())
    record = a_run.record
    record.path("manifest.jsonl").unlink()  # or written to fit: it protects against damage, not against people
    torch.save({"epoch": 1, "model": Hostile(), "optimizers": {}}, record.path("checkpoint.pt"))
    record.path("checkpoint.previous.pt").write_bytes(pickled)
    assert record.checkpoint(weights_only) is None

    record.path("model.safetensors").write_bytes(pickled)
    with pytest.raises(RunError, match=r"model.safetensors is corrupt"):
        record.weights()

    np.savez(record.path("predictions.npz"), logits=np.array([Hostile()], dtype=object))
    with pytest.raises(RunError, match=r"predictions.npz is corrupt"):
        record.predictions()
    record.path("predictions.npz").write_bytes(pickled)
    with pytest.raises(RunError, match=r"predictions.npz is corrupt"):
        record.predictions()
    assert not (tmp_path / "executed").exists()


def test_a_hostile_checkpoint_of_an_unfinished_run_is_not_run(a_run, tmp_path, monkeypatch):
    """It is as if there were none: the run trains again from its beginning, to the same end."""
    monkeypatch.setenv("HOSTILE", str(tmp_path / "executed"))
    weights, rows = a_run.record.path("model.safetensors").read_bytes(), a_run.epochs
    for name in ("model.safetensors", "metrics.json", "facts.json"):
        a_run.record.path(name).unlink()
    torch.save({"epoch": 1, "model": Hostile(), "optimizers": {}}, a_run.record.path("checkpoint.pt"))
    monkeypatch.setattr(report, "draw", lambda *args: [])
    resumed = api.resume(a_run.folder)
    assert not (tmp_path / "executed").exists()
    assert resumed.epochs == rows
    assert resumed.record.path("model.safetensors").read_bytes() == weights
    assert not list(resumed.folder.glob("checkpoint*"))


def test_a_folder_that_is_removed_while_it_is_written_is_named_and_not_made_again(tmp_path):
    record = new(tmp_path)
    shutil.rmtree(record.folder)
    for name in ("epochs.jsonl", "samples/1.png"):
        record._locked = name.startswith("samples")  # as within a run
        with pytest.raises(FileError, match=r"cannot write .*: the folder .* is not there, or no longer"):
            record.write_bytes(name, b"")
    assert os.listdir(tmp_path) == []


def test_one_writer_at_a_time(a_run):
    held = pytest.raises(FileError, match=rf"run {a_run.id} is being written by another process; wait")
    with a_run.record.lock(), held:
        api.resume(a_run.folder)
    with a_run.record.lock():  # let go of
        pass


TEXT_FILES = ["environment.json", "recipe.toml", "input.json", "chosen.toml", "metrics.json", "facts.json"]
LINE_FILES = ["epochs.jsonl", "study.jsonl", "split.json", "cuts.json"]
BINARY_FILES = ["predictions.npz", "model.safetensors"]
DAMAGE = {
    "half": lambda data: data[: len(data) // 2],
    "noise": lambda data: b"\xff\xfe\0\x01" * 20,
    "list": lambda data: b"[]\n",
    "table": lambda data: b"{}\n",
    "words": lambda data: b'["a", "b"]\n',
}


@pytest.mark.parametrize("name", TEXT_FILES + LINE_FILES + BINARY_FILES)
def test_a_corrupt_run_is_an_error_of_one_line(a_run, name, monkeypatch):
    """Whatever a file holds: reading, reporting, resuming and listing either work or say what is wrong."""
    from replab.runs.compare import table

    monkeypatch.setattr(report, "draw", lambda *args: [])
    path, runs = a_run.record.path(name), a_run.folder.parent
    whole = path.read_bytes()
    files = {p: p.read_bytes() for p in a_run.folder.iterdir() if p.is_file()}
    for damage in DAMAGE.values():
        for act in (
            lambda: report.write(Record.open(a_run.id, runs)),
            lambda: terminal.lines(Record.open(a_run.id, runs)),
            lambda: table(api.all_runs(runs)),
            lambda: api.load_run(a_run.id, runs).predict(np.zeros((8, 8), np.uint8)),
            lambda: api.resume(a_run.id, runs=runs),
        ):
            path.write_bytes(damage(whole))
            said = f"{a_run.id} is well"
            try:
                act()
            except ReplabError as error:
                said = str(error)
            assert a_run.id in said
            assert "\n" not in said
            for file, data in files.items():
                file.write_bytes(data)


def test_the_mark_is_what_makes_a_run(tmp_path):
    record = new(tmp_path)
    assert json.loads(record.read_text("environment.json"))["kind"] == MARK
    shutil.rmtree(record.folder)


def test_a_folder_that_cannot_be_written_is_known_before_it_is_made(tmp_path, monkeypatch):
    check_writable(tmp_path / "not" / "yet")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file", tmp_path / "file" / "runs"):
        with pytest.raises(RunError, match=r"is a file; --runs FOLDER names another"):
            check_writable(place)

    def read_only(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("tempfile.mkdtemp", read_only)
    with pytest.raises(RunError, match=r"Read-only file system; --runs FOLDER names another"):
        check_writable(tmp_path)
