"""Several processes share one training: the losses of one process, the same bits every time, whoever is lost."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import shared_training
import torch

from replab import api
from replab.data.batches import Batches
from replab.data.load import load
from replab.errors import ReplabError, RunError
from replab.report.terminal import lines as lines_of
from replab.training.ddp import lead
from replab.training.ddp.member import Shared

pytestmark = pytest.mark.usefixtures("no_reports")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What two gloo processes under torchrun made of each of the cases."""
    folder = tmp_path_factory.mktemp("shared")
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*words, shared_training.__file__, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "seen.json").read_text())


@pytest.mark.parametrize("name", shared_training.CASES)
def test_all_processes_have_the_same_weights_after_every_step(name, seen):
    steps = {"classifier": 18, "again": 18, "norm": 3, "codes": 6, "pieces": 44}.get(
        name, 12
    )  # 103 images are 6 batches
    assert seen[name]["alike"] == [True] * steps


def test_the_losses_are_those_of_one_process(seen, tmp_path):
    model, settings = shared_training.CASES["classifier"]
    alone = api.run(model, runs=tmp_path, **{**shared_training.SETTINGS, **settings})
    shared = api.load_run(seen["classifier"]["folder"])
    for one, two in zip(alone.epochs, shared.epochs, strict=True):
        assert one.keys() == two.keys()
        assert one["train_loss"] == pytest.approx(two["train_loss"], abs=1e-4)
        assert one["test_loss"] == pytest.approx(two["test_loss"], abs=1e-4)
    assert alone.metrics["loss"] == pytest.approx(shared.metrics["loss"], abs=1e-4)


def test_it_repeats_bit_for_bit(seen):
    assert seen["again"]["weights"] == seen["classifier"]["weights"]
    one, two = (Path(seen[name]["folder"], "epochs.jsonl").read_bytes() for name in ("classifier", "again"))
    assert one == two


def test_the_report_says_how_many_processes_and_what_batchnorm_does(seen):
    lines = dict(lines_of(api.load_run(seen["norm"]["folder"]).record))
    assert lines["processes"].startswith("2 (DistributedDataParallel); global batch 20, 10 images each; BatchNorm")
    assert lines["repeat with"].endswith("--ddp 2")
    lines = dict(lines_of(api.load_run(seen["classifier"]["folder"]).record))
    assert lines["processes"] == "2 (DistributedDataParallel); global batch 20, 10 images each"
    assert "ddp" not in Path(seen["norm"]["folder"], "recipe.toml").read_text()


def test_a_killed_process_leaves_a_run_that_resumes_to_the_same_end(seen, tmp_path, monkeypatch):
    model, settings = shared_training.CASES["classifier"]
    settings = {**shared_training.SETTINGS, **settings}
    started, real = [], subprocess.Popen

    def followers():
        return [process for process in started if "replab.training.ddp.follow" in process.args]

    class Watched:
        def hear(self, event):
            if event.kind == "epoch" and event.facts["epoch"] == 1:
                os.kill(followers()[0].pid, signal.SIGKILL)

    from replab.records.events import Events

    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(real(*a, **k)) or started[-1])
    monkeypatch.setattr(lead, "threads_each", lambda count: 1)
    settings.pop("quiet")
    with pytest.raises(RunError, match=r"^process 2 of 2 was lost \(killed by signal 9\); replab resume .* continues$"):
        api.run(model, runs=tmp_path, events=Events(Watched()), ddp=2, **settings)
    (folder,) = tmp_path.iterdir()
    with pytest.raises(RunError, match="was begun with 2 processes, got 3: other shares round otherwise; --ddp 2"):
        api.resume(folder, ddp=3, quiet=True)
    again = api.resume(folder, quiet=True)
    assert sha256((again.folder / "model.safetensors").read_bytes()).hexdigest() == seen["classifier"]["weights"]
    assert len(followers()) == 2
    assert all(process.poll() is not None for process in started)


def test_ctrl_c_ends_all_processes_and_says_how_to_resume(tmp_path):
    words = [sys.executable, "-m", "replab", "run", "mlp", "--ddp", "2", "--lr", "1e-3", "--epochs", "100000", "-q"]
    process = subprocess.Popen(
        [*words, "--limit", "60", "--runs", str(tmp_path)], stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    while process.poll() is None and not list(tmp_path.glob("*/epochs.jsonl")):
        time.sleep(0.02)
    tasks = Path(f"/proc/{process.pid}/task")
    (child,) = {int(c) for task in tasks.iterdir() for c in (task / "children").read_text().split()}
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "replab resume" in err
    assert "Traceback" not in err
    assert not Path(f"/proc/{child}").exists()


def test_the_command_of_the_page(tmp_path):
    """docs/scale.md: torchrun on two nodes, which are this machine, with one process each and a small model."""
    lines = (Path(__file__).parents[4] / "docs/scale.md").read_text().splitlines()
    (line,) = (line.partition("#")[0] for line in lines if line.startswith("torchrun --nnodes 2"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        here = f"127.0.0.1:{free.getsockname()[1]}"
    smaller = {"4": "1", "HOST:29500": here, "resnet18": "mlp"}
    words = [smaller.get(word, word) for word in line.split()[1:]]
    start = [sys.executable, "-m", "torch.distributed.run", "--local-addr", "127.0.0.1", *words]
    small = f"--limit 40 --lr 1e-3 --epochs 1 --runs {tmp_path}".split()
    nodes = [subprocess.Popen([*start, *small], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
             for _ in range(2)]  # fmt: skip
    errors = [node.communicate()[1][-3000:] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], errors
    (run,) = map(api.load_run, tmp_path.iterdir())
    assert run.finished
    assert run.record.read_json("environment.json", {})["ddp"]["processes"] == 2


def test_shares_are_the_batch_and_weigh_as_it_does():
    batches = Batches(load("digits", limit=43).train, 20, seed=3, shuffle=True, augment=("crop=1", "mixup"))
    shares = [list(Shared(batches, rank, 3).epoch(2)) for rank in range(3)]
    for whole, *parts in zip(batches.epoch(2), *shares, strict=True):
        if len(whole.index) < 6:
            assert all(torch.equal(part.x, whole.x) and part.weight == 1 for part in parts)
            continue
        assert torch.equal(torch.cat([part.x for part in parts]), whole.x)
        assert torch.equal(torch.cat([part.target for part in parts]), whole.target)
        assert sum(part.images for part in parts) == pytest.approx(len(whole.index))
        means = [float(part.x.double().mean()) * part.weight for part in parts]
        assert np.mean(means) == pytest.approx(float(whole.x.double().mean()))


SMALL = {"limit": 40, "lr": 1e-3, "epochs": 1, "quiet": True}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"ddp": 0}, "--ddp must be at least 1, got 0"),
        ({"ddp": 2, "backend": "mytorch"}, "--ddp 2 needs torch, got --backend mytorch"),
        ({"ddp": 4, "batch_size": 6}, "needs two images per process in a batch, got --batch-size 6; at least 8"),
        ({"ddp": 2, "data": (np.zeros((40, 8, 8), np.uint8), np.arange(40) % 4) * 2}, "save the arrays as .npz"),
    ],
)
def test_what_cannot_be_shared_is_refused(settings, said, tmp_path):
    with pytest.raises(ReplabError) as error:
        api.run("mlp", runs=tmp_path / "runs", **{**SMALL, **settings})
    assert said in str(error.value)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("device", "gpus"), [("cuda", 1), ("cuda:0", 2)])
def test_two_processes_need_two_gpus(device, gpus, monkeypatch):
    from dataclasses import replace

    from replab.settings.recipe import Recipe
    from replab.training.prepare import prepare

    experiment = prepare(Recipe(model="mlp", limit=40))
    asked = replace(experiment, device=device, recipe=experiment.recipe.replace(device=device))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    with pytest.raises(ReplabError, match=rf"^--ddp 2 needs 2 GPUs, got --device {device}, which has 1; --ddp"):
        lead.size(2, asked)


def test_a_model_of_this_session_is_refused(tmp_path):
    def build(image):
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, image.classes))

    with pytest.raises(ReplabError, match=r"needs code that other processes can import: put .* into a file"):
        api.run(build, runs=tmp_path / "runs", ddp=2, **SMALL)
