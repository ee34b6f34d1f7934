"""SIGKILL at any moment: a resumed run ends with the same trials, rows and weights as one left alone.

Real processes, really killed, forked from one that has made such a run: a process costs milliseconds. all_faults.py
kills at every operation on files; here the model has what a generator and running statistics change.
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import scenarios
from all_faults import apart, forked

from replab.settings.recipe import Recipe

NET = """
from torch import nn

def build(image):
    # dropout draws numbers, BatchNorm keeps statistics: both must survive
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(),
                         nn.Linear(144, image.classes))
"""
SEARCH = {"trials": 4, "max_epochs": 3, "patience": 2, "fraction": 1.0, "min_validation": 30, "choose": "best"}
SETTINGS = {
    "limit": 160,
    "batch_size": 16,
    "augment": ("flip", "crop=1"),
    "optimizer": "adamw",
    "weight_decay": 0.01,
    "epochs": 4,
    "schedule": "one-cycle",
    "search": SEARCH,
}


class KillAt:
    """SIGKILL when the n-th event of the run is told: a batch, a trial, an epoch, a stage."""

    def __init__(self, number):
        self.left = number

    def hear(self, event):
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)


def go_on(model, runs, *subscribers):
    """Begin the run, or go on with it."""
    from replab import api
    from replab.records.events import Events

    folder, events = begun(runs), Events(*subscribers)
    if folder is None:
        api.run(model, runs=runs, events=events, workers=1, **SETTINGS)
    else:
        api.resume(folder, events=events, workers=1)


def begun(runs):
    """The folder of a run that can be resumed, if it got that far."""
    return next((f for f in Path(runs).glob("*") if (f / "environment.json").is_file()), None)


def result(runs):
    folder = begun(runs)
    left_over = [p.name for p in folder.iterdir() if p.name.endswith(".tmp") or p.name.startswith("checkpoint")]
    assert not left_over
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in scenarios.ENDS}


def trials(runs):
    folder = begun(runs)
    study = folder and folder / "study.jsonl"
    return len(study.read_text().splitlines()) if study and study.is_file() else 0


def killed_again_and_again(place, model, note):
    """In a process of its own: a run left alone, which warms it up, and one that is killed after a few events each."""
    scenarios.warm()
    scenarios.settle(place)
    go_on(model, place / "alone")
    rng, codes, in_search, in_training = random.Random(3407), [], 0, 0
    while not codes or (codes[-1] and len(codes) < 40):
        # a trial begins anew, an epoch goes on after the last one: fewer events are enough to get on
        reach = (20, 50, 80) if trials(place / "killed") < SEARCH["trials"] else (8, 16, 24)
        codes.append(apart(go_on, model, place / "killed", KillAt(rng.choice(reach) + rng.randrange(10))))
        in_search += codes[-1] != 0 and trials(place / "killed") < SEARCH["trials"]
        in_training += codes[-1] != 0 and trials(place / "killed") == SEARCH["trials"]
    found = {"codes": codes, "in_search": in_search, "in_training": in_training}
    found |= {"alone": result(place / "alone"), "killed": result(place / "killed")}
    note.write_text(json.dumps(found))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.py"
    path.write_text(NET)
    return f"{path}:build"


@pytest.fixture(scope="module")
def found(model, tmp_path_factory):
    place = tmp_path_factory.mktemp("killed")
    child = forked(killed_again_and_again, place, model, place / "note.json")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return json.loads((place / "note.json").read_text())


def test_killed_at_random_moments_in_search_and_training(found):
    *killed, last = found["codes"]
    assert last == 0
    assert set(killed) == {-signal.SIGKILL}
    assert found["in_search"] >= 2
    assert found["in_training"] >= 2
    assert found["killed"] == found["alone"]


def test_ctrl_c_says_how_to_resume(model, found, tmp_path, monkeypatch):
    """Through the real command line: exit code 130, one sentence, and the resumed run is as one left alone."""
    for what in ("CACHE", "CONFIG"):
        monkeypatch.setenv(f"REPLAB_{what}", str(tmp_path / what.lower()))  # where settle() has them too
    recipe = Recipe(model=model).replace(**SETTINGS)
    (tmp_path / "recipe.toml").write_text(recipe.to_toml())
    runs = tmp_path / "runs"
    command = [sys.executable, "-m", "replab", "run", "--recipe", str(tmp_path / "recipe.toml"), "--runs", str(runs)]
    process = subprocess.Popen(
        [*command, "--workers", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore Ctrl-C
    )
    while process.poll() is None and trials(runs) < 1:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    folder = begun(runs)
    assert f"run folder: {folder}" in out
    assert err.strip() == f"replab: interrupted; replab resume {folder} continues it"
    assert not (folder / "metrics.json").is_file()
    assert apart(quietly_go_on, model, runs) == 0
    assert result(runs) == found["alone"]


def quietly_go_on(model, runs):
    scenarios.warm()
    scenarios.settle(runs.parent)
    go_on(model, runs)
