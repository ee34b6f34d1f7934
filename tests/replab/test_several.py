"""Several runs of one command: side by side they are the runs that one after another would make."""

import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from listening import Lines

from replab import api, several
from replab.errors import ModelError, RunError
from replab.records.events import Events
from replab.replication import replicate
from replab.replication.packs import from_file
from replab.search import hire, transfer
from replab.search.engines.base import Workers
from replab.settings.recipe import Recipe

pytestmark = pytest.mark.usefixtures("no_reports")

NET = """
import os, signal, sys, torch
from torch import nn

if "pytest" not in sys.modules:  # nobody reads the reports of a worker's runs
    from replab.report import write as report
    report.write = lambda *args: None

class Deadly(nn.Module):
    # kills its own process once, when the training of one seed has begun
    def forward(self, x):
        fuse, begun = os.environ.get("FUSE"), os.environ.get("BEGUN")
        if self.training and torch.is_grad_enabled() and fuse and os.path.exists(fuse):
            import glob
            if [f for f in glob.glob(begun + "/*/epochs.jsonl") if "seed = 3408" in open(
                    os.path.join(os.path.dirname(f), "recipe.toml")).read()]:
                try:
                    os.remove(fuse)
                except FileNotFoundError:  # the other worker was faster
                    return x
                os.kill(os.getpid(), signal.SIGKILL)
        return x

def build(image, width=4):
    return nn.Sequential(nn.Conv2d(1, width, 3), nn.BatchNorm2d(width), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(),
                         Deadly(), nn.Linear(36 * width, image.classes))

def wide(image):
    return build(image, 6)
"""
SEARCH = {"trials": 2, "max_epochs": 2, "fraction": 1.0, "min_validation": 20, "batch": 2}
SETTINGS = {"limit": 100, "batch_size": 16, "epochs": 3, "search": SEARCH}
FILES = ("recipe.toml", "study.jsonl", "chosen.toml", "epochs.jsonl", "model.safetensors", "metrics.json")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.py"
    path.write_text(NET)
    return f"{path}:build"


def hashes(runs):
    return [{name: sha256((run.folder / name).read_bytes()).hexdigest() for name in FILES} for run in runs]


@pytest.fixture(scope="module")
def one_by_one(model, tmp_path_factory):
    runs = tmp_path_factory.mktemp("one-by-one")
    return hashes(several.run_seeds([model], 2, runs=runs, workers=1, quiet=True, **SETTINGS))


def test_seeds_side_by_side_are_the_same_bytes_and_a_killed_worker_changes_nothing(
    model, one_by_one, tmp_path, monkeypatch
):
    fuse, runs, lines = tmp_path / "fuse", tmp_path / "runs", Lines()
    fuse.touch()
    monkeypatch.setenv("FUSE", str(fuse))
    monkeypatch.setenv("BEGUN", str(runs))
    found = several.run_seeds([model], 2, runs=runs, workers=2, events=Events(lines), **SETTINGS)
    assert hashes(found) == one_by_one
    assert not fuse.exists()
    assert sum("was lost; " in line and line.endswith("is run again") for line in lines) == 1
    assert len(list(runs.iterdir())) == 2  # it was resumed, not begun again, and nothing else is left
    assert any(line.startswith("runs: 2 of 2 side by side, each on ") for line in lines)
    threads = {run.record.read_json("environment.json", {})["threads"] for run in found}
    assert len(threads) == 1


@pytest.mark.parametrize("words", ["compare MODEL WIDE", "sweep MODEL --set width=2,4"])
def test_what_a_command_makes_side_by_side_is_the_same_bytes(words, model, replab, in_tmp):
    recipe, made = in_tmp / "recipe.toml", []
    recipe.write_text(Recipe(model=model).replace(**SETTINGS).to_toml())
    for workers in (1, 4 if words.startswith("compare") else 2):  # with four, each run has a search of two workers
        runs = in_tmp / f"runs{workers}"
        words = words.replace("MODEL", model).replace("WIDE", model.replace(":build", ":wide"))
        code, out, err = replab(*words.split(), "--recipe", recipe, "--runs", runs, "--workers", workers)
        assert code == 0, (out, err)
        made.append(sorted(hashes(api.load_run(path.parent) for path in runs.glob("*/recipe.toml")), key=str))
    assert len(made[0]) == 2
    assert made[0] == made[1]


def test_where_the_folder_cannot_be_seen_the_files_are_sent_back(model, one_by_one, tmp_path):
    recipe = api.prepare(model, **SETTINGS).recipe
    far = several.Runs(tmp_path / "runs", tmp_path / "runs" / "unseen", 1, "cpu")
    sent = far.do(several.Job(0, "one", recipe.to_toml()).to_dict(), Events())
    assert not (tmp_path / "runs").exists()
    found = [far.result(sent), far.result(sent)]  # of two nodes, which may name their runs alike
    assert hashes(found) == one_by_one[:1] * 2
    assert found[0].folder != found[1].folder
    spoilt = recipe.replace(data="/nowhere/images").to_toml()
    sent = far.do(several.Job(0, "elsewhere", spoilt).to_dict(), Events())
    assert sent["error"].startswith("elsewhere: no folder or zip of images at /nowhere/images")
    assert str(far.result(sent)) == sent["error"]


def test_ctrl_c_leaves_runs_that_can_be_resumed(model, one_by_one, tmp_path):
    recipe, runs = tmp_path / "recipe.toml", tmp_path / "runs"
    recipe.write_text(Recipe(model=model).replace(**SETTINGS).to_toml())
    words = f"-m replab run --recipe {recipe} --runs {runs} --seeds 2 --workers 2".split()
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    while process.poll() is None and len(list(runs.glob("*/study.jsonl"))) < 2:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, (out, err)
    assert "Traceback" not in err
    folders = [Path(line.split()[-1]) for line in err.splitlines() if line.startswith("  replab resume ")]
    assert sorted(folders) == sorted(runs.iterdir())
    assert sorted(hashes([api.resume(folder, quiet=True) for folder in folders]), key=str) == sorted(
        one_by_one, key=str
    )


def test_transfer_side_by_side_finds_the_same_points():
    recipe = Recipe(model="mlp", limit=60, epochs=2, lr=1e-4).replace(search={"fraction": 1.0, "min_validation": 20})
    alone = transfer.measure(recipe, [4, 8], [1e-4, 1e-3, 1e-2], Events(lines := Lines()))
    assert transfer.measure(recipe, [4, 8], [1e-4, 1e-3, 1e-2], Events(again := Lines()), Workers(2)) == alone
    assert [line for line in again if "best rate" in line] == [line for line in lines if "best rate" in line]


PACK = """
[source]
title = "A pack of the tests"
[source.recipe]
data = "digits"
limit = 60
lr = 1e-3
epochs = 1
[[row]]
id = "own/narrow"
recipe = { model = "MODEL", params = { width = 2 } }
figures = [{ measure = "test_accuracy", published = 50.0 }]
[[row]]
id = "own/wide"
recipe = { model = "MODEL", params = { width = 4 } }
figures = [{ measure = "test_accuracy", published = 50.0 }]
"""


def test_rows_side_by_side_have_the_same_figures(model, tmp_path):
    (tmp_path / "own.toml").write_text(PACK.replace("MODEL", model))
    known = from_file(tmp_path / "own.toml")
    jobs, entries = replicate.plan(list(known.rows.values())), []
    for count in (1, 2):
        where = {"results": tmp_path / f"results{count}", "runs": tmp_path / f"runs{count}"}
        outcome = replicate.replicate(jobs, known, **where, events=Events(lines := Lines()), workers=Workers(count))
        assert not outcome.left_out
        entries.append({entry.id: (entry.values, entry.curve, entry.seed) for entry in outcome.finished})
    assert any("2 of 2 side by side" in line for line in lines)
    assert entries[0] == entries[1]
    assert len(entries[0]) == 2


def test_labels_tell_runs_apart():
    assert several.label({"model": "cnn", "seed": 3408}) == "cnn, seed 3408"
    assert several.label({"params": {"beta": 2, "latent": 4}}) == "beta=2, latent=4"


def session_model(image):
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(64, image.classes))


def test_what_cannot_be_sent_is_refused_if_workers_were_asked_for(tmp_path, monkeypatch):
    small = {"limit": 40, "lr": 1e-3, "epochs": 1, "quiet": True}
    monkeypatch.setattr(session_model, "__module__", "__main__")
    with pytest.raises(ModelError, match=r"^--workers 2 needs runs that can be sent .* code of this session"):
        several.compare([session_model, "mlp"], runs=tmp_path / "runs", workers=2, **small)
    images = (np.zeros((40, 8, 8), np.uint8), np.arange(40) % 4) * 2
    with pytest.raises(ModelError, match=r"the images are objects of this session: save them as .npz"):
        several.compare(["mlp", "mlp"], data=images, runs=tmp_path / "runs", workers=2, **small)
    assert not (tmp_path / "runs").exists()


def test_how_many_runs_fit(monkeypatch):
    lines = Lines()
    monkeypatch.setattr(hire, "cores", lambda: 8)
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    monkeypatch.setattr(hire, "fits", lambda each: 3)

    def crew(asked, runs=6, hindrance="", seconds=60.0):
        needs = [several.Needs(2**30, seconds)] * runs
        return several.crew_for(Workers(asked), needs, hindrance, "cpu", Events(lines))

    assert crew(None) == (Workers(3), 1)  # four by cores, three by memory
    assert crew(3) == (Workers(3), 1)
    assert crew(1) is None
    assert crew(None, runs=1) is None
    assert crew(4, runs=2) == (Workers(2), 2)  # what is left over serves the search inside each run
    assert crew(None, hindrance="it is code of this session") is None
    assert crew(None, seconds=1.0) is None  # they would be over before the workers have started
    assert crew(2, seconds=1.0) == (Workers(2), 1)
    with pytest.raises(RunError, match=r"^--workers 5 needs about 5.0 GiB, more than is free: 3 fit; --workers 3$"):
        crew(5)
    assert lines[0] == "runs: 3 of 6 side by side, each on 2 threads, as it would be alone"


def test_runs_that_torchrun_shares_follow_one_another(tmp_path, monkeypatch):
    """Its processes train each run together: none is left for runs beside it."""
    made = []
    monkeypatch.setattr(several.api, "run", lambda **settings: made.append(settings["model"]))
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    several.run_each([{"model": "mlp"}, {"model": "conv1"}], limit=40, workers=2, quiet=True, runs=tmp_path)
    assert made == ["mlp", "conv1"]
    monkeypatch.setenv("WORLD_SIZE", "two")
    with pytest.raises(RunError, match="WORLD_SIZE must be a number of processes, got 'two'; unset it"):
        several.run_each([{"model": "mlp"}], limit=40, quiet=True, runs=tmp_path)
