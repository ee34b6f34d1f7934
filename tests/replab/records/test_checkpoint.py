"""Checkpoints: a whole one at every moment, with its rows; damage is noticed and, where it can be, repaired."""

import errno
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from listening import Lines
from safetensors.numpy import load_file

from replab import api
from replab.errors import FileError
from replab.records.events import Events
from replab.records.record import Record
from replab.report import write as report
from replab.settings.recipe import Recipe

HERE = {"replab": "0", "python": "3", "packages": {}, "device": "cpu", "processor": "x", "threads": 1}


def load(path):
    return torch.load(path, weights_only=True)


def rows(count):
    return [{"epoch": i, "loss": 1 / i} for i in range(1, count + 1)]


@pytest.fixture
def record(tmp_path):
    """A training killed after its third epoch."""
    record = Record.create(tmp_path, Recipe(), HERE)
    for epoch in (1, 2, 3):
        record.write_lines("epochs.jsonl", rows(epoch))
        record.write_checkpoint({"model": torch.full((3,), epoch), "optimizers": {}}, rows(epoch), torch.save)
    return record


def read(record):
    """(epoch of the checkpoint that is used, what was said)"""
    notices = []
    saved = Record(record.folder).checkpoint(load, notices.append)
    if saved is None:
        return 0, notices
    assert saved[0]["epoch"] == len(saved[1]) == int(saved[0]["model"][0])
    return saved[0]["epoch"], notices


def test_the_newest_is_used(record):
    assert read(record) == (3, [])
    record.drop_checkpoints()
    assert not list(record.folder.glob("checkpoint*"))
    assert read(record)[0] == 0


DAMAGE = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "flipped": lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    "words": lambda data: b"not a checkpoint",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_one_falls_back_to_its_predecessor(record, damage):
    newest, previous = record.path("checkpoint.pt"), record.path("checkpoint.previous.pt")
    newest.write_bytes(damage(newest.read_bytes()))
    epoch, notices = read(record)
    assert epoch == 2
    assert "checkpoint.pt is damaged" in notices[0]
    assert notices[0].endswith("the training continues from checkpoint.previous.pt, after epoch 2")
    whole = previous.read_bytes()
    again = Record(record.folder)
    again.write_checkpoint({"model": torch.full((3,), 3), "optimizers": {}}, rows(3), torch.save)
    assert previous.read_bytes() == whole  # the damaged one did not take its place
    assert read(record)[0] == 3
    newest.unlink()  # killed between the two renames: nothing to say
    assert read(record) == (2, [])
    previous.write_bytes(damage(whole))
    epoch, notices = read(record)
    assert epoch == 0
    assert notices[0].endswith("the training starts again from epoch 1, to the same end")


def test_rows_that_disagree_are_written_again_from_the_checkpoint(record):
    text = record.read_text("epochs.jsonl")
    for spoilt in ("", text.replace("\n", "\n\n", 1)[:30], text.splitlines()[0] + "\n", "noise"):
        record.path("epochs.jsonl").write_text(spoilt)
        epoch, notices = read(record)
        assert epoch == 3
        assert "epochs.jsonl is damaged; it is written again from the checkpoint of epoch 3" in notices[0]
        assert Record(record.folder).read_text("epochs.jsonl") == text
    record.write_lines("epochs.jsonl", rows(4))  # killed before its checkpoint: the epoch is repeated, nothing to say
    assert read(record) == (3, [])


@pytest.mark.parametrize("epoch", [99, -1, 0, 2, True, "3", None, 2**70])
@pytest.mark.parametrize("with_rows", [True, False], ids=["rows inside", "replab 0.1"])
def test_an_epoch_that_cannot_be_is_not_believed(record, epoch, with_rows):
    """Forged or damaged in a folder without manifest."""
    record.path("manifest.jsonl").unlink()
    state = {"epoch": epoch, "model": torch.full((3,), 2), "optimizers": {}}
    inside = {"rows": "".join(json.dumps(row) + "\n" for row in rows(3))} if with_rows else {}
    torch.save({**state, **inside}, record.path("checkpoint.pt"))
    used, notices = read(record)
    if epoch == 2 and not with_rows:  # a true one of replab 0.1
        assert (used, notices) == (2, [])
    else:
        assert used == 2
        assert "checkpoint" in notices[0]


def test_rows_without_any_checkpoint(record):
    for name in ("checkpoint.pt", "checkpoint.previous.pt"):
        record.path(name).unlink()
    assert read(record) == (
        0,
        [f"run {record.id}: it has rows but no checkpoint; the training starts again from epoch 1"],
    )


def test_one_that_cannot_be_written_keeps_the_last(record):
    def full(state, file):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(FileError, match=rf"checkpoint.pt: No space left .*; then replab resume {record.id} continues"):
        record.write_checkpoint({"model": 4}, rows(4), full)
    assert read(record) == (3, [])
    assert not list(record.folder.glob("*.tmp"))


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """A run made by replab 0.1 and interrupted, and what it says while it is resumed."""
    monkeypatch.setattr(report, "draw", lambda *args: [])
    fixture = Path(__file__).parents[1] / "fixtures" / "runs-0.1.0" / "interrupted"
    shutil.copytree(fixture, tmp_path / "interrupted")
    return tmp_path / "interrupted"


def test_a_run_of_replab_0_1_is_resumed_and_a_cut_one_is_not_believed(interrupted, tmp_path):
    shutil.copytree(interrupted, tmp_path / "cut")
    said = Lines()
    whole = api.resume(interrupted, events=Events(said))
    assert [row["epoch"] for row in whole.epochs] == list(range(1, whole.chosen.epochs + 1))
    assert not any("start" in line for line in said)
    first = (tmp_path / "cut" / "epochs.jsonl").read_text().splitlines()[0]
    (tmp_path / "cut" / "epochs.jsonl").write_text(first + "\n")
    cut = api.resume(tmp_path / "cut", events=Events(said))
    # epoch 2 was trained by the processor that the run was begun on, and now by this one, which may round otherwise
    assert [pytest.approx(row, rel=1e-5) for row in whole.epochs] == cut.epochs
    assert any("the training continues from checkpoint.previous.pt, after epoch 1" in line for line in said)
    weights, others = (load_file(run.record.path("model.safetensors")) for run in (cut, whole))
    assert weights.keys() == others.keys()
    assert all(np.allclose(weights[name], others[name], rtol=1e-4, atol=1e-6) for name in weights)


def test_a_damaged_run_ends_as_one_left_alone(tmp_path, monkeypatch):
    """Rows cut, a bit flipped in the newest checkpoint: both are said, and the end is the same, bit for bit."""
    monkeypatch.setattr(report, "draw", lambda *args: [])
    settings = {"model": "mlp", "params": {"widths": [8]}, "limit": 60, "lr": 1e-2, "epochs": 5, "quiet": True}
    whole = api.run(**settings, runs=tmp_path / "whole")
    real = Record.write_checkpoint

    def killed(self, state, rows, save):
        real(self, state, rows, save)
        if len(rows) == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Record, "write_checkpoint", killed)
        with pytest.raises(KeyboardInterrupt):
            api.run(**settings, runs=tmp_path / "killed")
    (folder,) = (tmp_path / "killed").iterdir()
    rows, newest = folder / "epochs.jsonl", folder / "checkpoint.pt"
    rows.write_text(rows.read_text().splitlines()[0] + "\n")
    newest.write_bytes(DAMAGE["flipped"](newest.read_bytes()))
    heard = Lines()
    resumed = api.resume(folder, events=Events(heard))
    assert "checkpoint.pt is damaged" in heard[0]
    assert "the training continues from checkpoint.previous.pt, after epoch 3" in heard[0]
    assert "epochs.jsonl is damaged; it is written again from the checkpoint of epoch 3" in heard[1]
    for name in ("epochs.jsonl", "model.safetensors", "metrics.json"):
        assert resumed.record.read_bytes(name) == whole.record.read_bytes(name)
