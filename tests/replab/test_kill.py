"""SIGKILL at any moment: a resumed run ends with the same trials, rows and weights as one left alone.

Real processes, really killed. A fork server has torch imported, so a process costs milliseconds.
"""

import multiprocessing
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from killing import killed_at, quietly

from replab import api
from replab.settings.recipe import Recipe

NET = """
from torch import nn

def build(image):
    # dropout draws numbers, BatchNorm keeps statistics: both must survive
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(),
                         nn.Linear(144, image.classes))
"""
PRELOADED = ["torch._dynamo", "optuna", "sklearn.datasets", "replab.api", "replab.report.write"]
SEARCH = {"trials": 5, "max_epochs": 4, "patience": 2, "fraction": 1.0, "min_validation": 30, "choose": "best"}
SETTINGS = {
    "limit": 160,
    "batch_size": 16,
    "augment": ("flip", "crop=1"),
    "optimizer": "adamw",
    "weight_decay": 0.01,
    "epochs": 6,
    "schedule": "one-cycle",
    "search": SEARCH,
}


@pytest.fixture(scope="module")
def server():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.py"
    path.write_text(NET)
    return f"{path}:build"


@pytest.fixture(scope="module")
def alone(server, model, tmp_path_factory):
    """What the run left alone wrote."""
    runs = tmp_path_factory.mktemp("alone")
    process = server.Process(target=quietly, args=(api.run, model), kwargs={"runs": runs, **SETTINGS})
    process.start()
    process.join()
    assert process.exitcode == 0
    return result(runs)


def result(runs):
    folder = begun(runs)
    left_over = [p.name for p in folder.iterdir() if p.name.endswith(".tmp") or p.name.startswith("checkpoint")]
    assert not left_over
    names = ("study.jsonl", "epochs.jsonl", "chosen.toml", "metrics.json", "model.safetensors")
    return {name: (folder / name).read_bytes() for name in names}


def begun(runs):
    """The folder of a run that can be resumed, if it got that far."""
    return next((f for f in Path(runs).glob("*") if (f / "environment.json").is_file()), None)


def lines(runs):
    """How far a run is: trials and epochs written."""
    folder = begun(runs)
    files = [] if folder is None else [folder / "study.jsonl", folder / "epochs.jsonl"]
    return [len(file.read_text().splitlines()) if file.is_file() else 0 for file in files] or [0, 0]


def next_try(server, model, runs, wrapper, *first):
    """A process that starts the run, or goes on with it."""
    folder = begun(runs)
    if folder is None:
        return server.Process(target=wrapper, args=(*first, api.run, model), kwargs={"runs": runs, **SETTINGS})
    return server.Process(target=wrapper, args=(*first, api.resume, folder))


def test_killed_at_random_moments_in_search_and_training(server, model, alone, tmp_path):
    """Wait until the run has got on by a step or two, and a random moment more; kill it; go on with it."""
    rng = random.Random(3407)
    in_search = in_training = 0
    for _ in range(40):
        before, steps, pause = sum(lines(tmp_path)), rng.choice([0, 1, 1, 1, 2]), rng.uniform(0, 0.05)
        process = next_try(server, model, tmp_path, quietly)
        process.start()
        while process.exitcode is None and sum(lines(tmp_path)) < before + steps:
            time.sleep(0.001)
        if steps == 0:
            pause *= 10
        process.join(pause)
        process.kill()
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        trials, _ = lines(tmp_path)
        in_search += trials < SEARCH["trials"]
        in_training += trials == SEARCH["trials"]
    assert process.exitcode == 0
    assert in_search >= 2
    assert in_training >= 2
    assert result(tmp_path) == alone


def test_killed_at_renames_of_files(server, model, alone, tmp_path):
    """Every state a folder can be in lies between two renames: kill there, again and again, on the same run."""
    kills = 0
    for rename in [1, 2, 4, 3, 5, 3, 2, 4, 6, 3, 5, 4, 2, 7, 3, 8, 5, 4, 6, 7] * 3:
        process = next_try(server, model, tmp_path, killed_at, rename, kills % 2 == 0)
        process.start()
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        kills += 1
    assert kills >= 10
    assert process.exitcode == 0
    assert result(tmp_path) == alone


def test_ctrl_c_says_how_to_resume(server, model, alone, tmp_path):
    """Through the real command line: exit code 130, one sentence, and the resumed run is as one left alone."""
    recipe = Recipe(model=model).replace(**SETTINGS)
    (tmp_path / "recipe.toml").write_text(recipe.to_toml())
    runs = tmp_path / "runs"
    command = [sys.executable, "-m", "replab", "run", "--recipe", str(tmp_path / "recipe.toml"), "--runs", str(runs)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore Ctrl-C
    )
    while process.poll() is None and sum(lines(runs)) < 1:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    folder = begun(runs)
    assert f"run folder: {folder}" in out
    assert err.strip() == f"replab: interrupted; replab resume {folder} continues it"
    assert 1 <= lines(runs)[0] < SEARCH["trials"]
    assert not api.load_run(folder).finished
    again = server.Process(target=quietly, args=(api.resume, folder))
    again.start()
    again.join()
    assert again.exitcode == 0
    assert result(runs) == alone
