"""Every engine keeps one contract: the numbers of a search are those of one process, whoever is lost on the way."""

import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from replab import api
from replab.data.split import split_for_search
from replab.errors import RecipeError, RunError
from replab.records.events import Events
from replab.search.engines.base import Job, Workers, engine
from replab.search.hire import hire
from replab.search.work import Work, received
from replab.settings.recipe import Recipe
from replab.training.prepare import prepare

NET = """
import os, signal, time, torch
from torch import nn

class Deadly(nn.Module):
    # kills its own process in the middle of training, as often as there are files in a folder
    def forward(self, x):
        fuses = os.listdir(os.environ["FUSES"]) if self.training and "FUSES" in os.environ else []
        if fuses and torch.is_grad_enabled():
            os.remove(os.path.join(os.environ["FUSES"], fuses[0]))
            if "HUGE" in os.environ:
                torch.empty(2**60)  # more than any machine has
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(float(os.environ.get("SLOW", 0)))
        return x

def build(image, hidden=8):
    print("a model that talks while it is built")
    # dropout draws numbers, BatchNorm keeps statistics
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(),
                         nn.Linear(144, hidden), Deadly(), nn.Linear(hidden, image.classes))
"""
SEARCH = {"trials": 6, "max_epochs": 3, "patience": 2, "fraction": 1.0, "min_validation": 30, "batch": 4}
SETTINGS = {"limit": 160, "batch_size": 16, "augment": ("flip", "crop=1"), "search": SEARCH}
ENGINES = engine.names()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.py"
    path.write_text(NET)
    return f"{path}:build"


@pytest.fixture(scope="module")
def work(model):
    experiment = prepare(Recipe(model=model).replace(**SETTINGS))
    return Work(experiment, *split_for_search(experiment.data.train, experiment.recipe.search, experiment.recipe.seed))


JOBS = [Job(n, {"lr": 10.0 ** -(n + 1)}) for n in range(3)]


@pytest.fixture(scope="module")
def expected(work):
    return trials(work, "in-process", JOBS)


def trials(work, name, jobs, events=None, count=2):
    crew = hire(work, Workers(count, name))
    try:
        return sorted((done.result for done in crew.run(jobs, events or Events())), key=lambda t: t.number)
    finally:
        crew.close()


class Heard(list):
    def hear(self, event):
        self.append(event)


@pytest.mark.parametrize("name", ENGINES)
def test_contract(name, work, expected):
    heard = Heard()
    crew = hire(work, Workers(2, name))
    try:
        done = list(crew.run(JOBS, Events(heard)))
        assert sorted((d.result for d in done), key=lambda t: t.number) == expected
        assert all(d.seconds > 0 and d.where for d in done)
        epochs = [(e.facts["trial"], e.facts["epoch"]) for e in heard if e.kind == "epoch"]
        assert sorted(epochs) == [(t.number, n + 1) for t in expected for n in range(len(t.losses))]
        # the same workers go on, and compare with what they are given
        behind = [Job(9, JOBS[0].params, tuple(expected), most=1)]
        (again,) = crew.run(behind, Events())
        assert again.result.losses == expected[0].losses[:1]
        assert list(crew.run([], Events())) == []
    finally:
        crew.close()
        crew.close()


def test_work_travels_as_plain_values(work, tmp_path):
    import json

    sent = json.loads(json.dumps(work.describe(tmp_path)))
    again = received(sent)
    assert (again.train.pixels == work.train.pixels).all()
    assert (again.validation.labels == work.validation.labels).all()
    assert not again.train.pixels.flags.owndata  # mapped, not copied
    assert again.learner.recipe == work.learner.recipe
    assert again.threads == work.threads == 1


def test_a_changed_file_is_not_imported(work, model, tmp_path):
    from replab.errors import ModelError

    sent = work.describe(tmp_path)
    changed, mark = tmp_path / "net.py", work.learner.source.sha256

    def moved(place):
        return received({**sent, "model": place, "code": {place: mark}})

    assert moved("/nowhere/net.py:build").learner.source.sha256 == mark  # from its text, which is sent along
    (tmp_path / "code-0.py").unlink()
    changed.write_text(NET + "raise SystemExit('it was imported')\n")
    with pytest.raises(ModelError, match="is not the file that the search began with"):
        moved(f"{changed}:build")


@pytest.mark.parametrize("how", ["killed", "out of memory"])
@pytest.mark.parametrize("name", ["processes", "ray"])
def test_lost_workers_change_nothing(name, how, work, expected, tmp_path, monkeypatch):
    """SIGKILL from within, or an allocation that fails, in the middle of an epoch."""
    monkeypatch.setenv("FUSES", str(tmp_path))
    if how == "out of memory":
        monkeypatch.setenv("HUGE", "1")
    for fuse in "ab":
        (tmp_path / fuse).touch()
    heard = Heard()
    assert trials(work, name, JOBS, Events(heard)) == expected
    assert not list(tmp_path.iterdir())
    assert sum("was lost" in e.facts.get("text", "") for e in heard) == 2


@pytest.mark.parametrize(("huge", "how"), [("", "killed by signal 9"), ("1", "out of memory")])
def test_a_trial_that_takes_every_worker_ends_the_search(huge, how, work, tmp_path, monkeypatch):
    monkeypatch.setenv("FUSES", str(tmp_path))
    if huge:
        monkeypatch.setenv("HUGE", huge)
    for fuse in "abcdef":
        (tmp_path / fuse).touch()
    said = rf"trial 1 has lost 3 workers \({how}\), perhaps for want of memory; .* fewer --workers"
    with pytest.raises(RunError, match=said):
        trials(work, "processes", JOBS[:1])
    assert len(list(tmp_path.iterdir())) == 3


def test_a_cluster_of_another_version_is_refused(work, monkeypatch):
    """This process says that it is of another version; the cluster's workers are of the real one."""
    import importlib.metadata

    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "9.9" if name == "torch" else real(name))
    there = f"replab {real('replab')}, torch {real('torch')}"
    said = rf"^the cluster has {there}, and this machine replab .*, torch 9.9; install the same on both$"
    with pytest.raises(RunError, match=said.replace("+", r"\+")):
        hire(work, Workers(1, "ray"))


def test_a_model_of_this_session_is_searched_here_or_refused(tmp_path, monkeypatch):
    from replab.errors import ModelError

    def build(image):
        from torch import nn

        return nn.Sequential(nn.Flatten(), nn.Linear(64, image.classes))

    monkeypatch.setattr(build, "__module__", "__main__")
    said = r"^--workers 2 needs code that can be sent to a worker: .*build is code of this session; put it into a file"
    with pytest.raises(ModelError, match=said):
        api.run(build, runs=tmp_path / "runs", workers=2, quiet=True, **SETTINGS)
    assert not (tmp_path / "runs").exists()
    assert api.run(build, runs=tmp_path / "runs", workers="auto", quiet=True, **SETTINGS).finished


def hashes(folder):
    names = ("study.jsonl", "asked.json", "chosen.toml", "epochs.jsonl", "model.safetensors", "metrics.json")
    return {name: sha256((Path(folder) / name).read_bytes()).hexdigest() for name in names}


@pytest.fixture(scope="module")
def alone(model, tmp_path_factory):
    return hashes(api.run(model, runs=tmp_path_factory.mktemp("alone"), workers=1, quiet=True, **SETTINGS).folder)


@pytest.mark.parametrize("workers", [2, 4])
def test_the_same_bytes_for_any_number_of_workers(workers, model, alone, tmp_path):
    run = api.run(model, runs=tmp_path, workers=workers, quiet=True, **SETTINGS)
    assert hashes(run.folder) == alone
    heard = (run.folder / "events.jsonl").read_text()
    assert all(f"worker {n + 1} (process" in heard for n in range(2))
    assert "workers" not in (run.folder / "recipe.toml").read_text()


def test_the_same_bytes_on_ray(model, alone, tmp_path):
    run = api.run(model, runs=tmp_path, workers=Workers(2, "ray"), quiet=True, **SETTINGS)
    assert hashes(run.folder) == alone
    assert "node " in (run.folder / "events.jsonl").read_text()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_ended_coordinator_leaves_no_worker_and_another_number_goes_on(how, model, alone, tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(Recipe(model=model).replace(**SETTINGS).to_toml())
    runs = tmp_path / "runs"
    words = [sys.executable, "-m", "replab", "run", "--recipe", recipe, "--runs", runs, "--workers", "2"]
    process = subprocess.Popen(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    while process.poll() is None and not list(runs.glob("*/study.jsonl")):
        time.sleep(0.01)
    children = children_of(process.pid)
    process.send_signal(how)
    _, err = process.communicate()
    assert process.returncode == (130 if how == signal.SIGINT else -how), err
    assert "Traceback" not in err
    assert len(children) == 2
    for _ in range(1000):
        if not any(map(alive, children)):
            break
        time.sleep(0.01)
    assert not any(map(alive, children))
    (folder,) = runs.glob("*")
    workers = 1 if how == signal.SIGKILL else 3
    assert hashes(api.resume(folder, workers=workers, quiet=True).folder) == alone


def children_of(pid):
    tasks = Path(f"/proc/{pid}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z (" not in Path(f"/proc/{pid}/status").read_text()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("0",), "--workers must be auto or a whole number of at least 1, got '0'"),
        (("-2",), "--workers must be auto"),
        (("many",), "--workers must be auto"),
        (("2", "proceses"), "no engine named 'proceses'. Did you mean 'processes'?"),
        (("2", "processes", "here:6379"), "--ray-address needs --engine ray"),
    ],
)
def test_what_cannot_be_is_refused(asked, said):
    from replab.errors import ReplabError

    with pytest.raises(ReplabError) as error:
        Workers.asked(*asked)
    assert said in str(error.value)
    assert isinstance(error.value, RecipeError) or "engine" in said


def test_ray_is_refused_in_one_line_where_it_cannot_be(tmp_path, monkeypatch):
    with pytest.raises(RunError, match=r"^no Ray cluster answers at 127.0.0.1:1 \(.*\); ray start --head starts one$"):
        api.run("mlp", runs=tmp_path, workers=Workers(2, "ray", "127.0.0.1:1"), quiet=True, fast=True)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RunError, match=r"pip install 'replab\[ray\]'$"):
        Workers.asked(2, "ray")


def test_more_workers_than_memory_has_room_for(work, monkeypatch):
    from replab.search import hire as hiring
    from replab.training import cost

    monkeypatch.setattr(hiring, "fits", lambda each: 1)
    measured = cost.measure(work.learner)
    with pytest.raises(RunError, match=r"^--workers 3 needs about .* GiB, more than is free: 1 fit; --workers 1$"):
        hiring.settle(Workers(3), work.learner, measured, Events())
    assert hiring.settle(Workers(), work.learner, measured, Events()).count == 1


def test_a_model_without_a_search_says_so(tmp_path):
    heard = Heard()
    settings = {"epochs": 1, "limit": 40, "params": {"latent": 4, "width": 4}}
    api.run("dcgan", runs=tmp_path, workers=2, events=Events(heard), **settings)  # a GAN
    said = "dcgan has nothing to search for: --workers serves several seeds (--seeds) or values (replab sweep) only"
    assert said in [e.facts.get("text") for e in heard]


def test_a_lost_node_changes_nothing(work, expected, monkeypatch):
    """The node that runs the trials is removed when the first has ended, and the last has just begun."""
    monkeypatch.setenv("SLOW", "0.1")  # seconds per batch, in the workers
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    crew = None
    try:
        doomed = cluster.add_node(num_cpus=2)
        crew = hire(work, Workers(2, "ray", cluster.address))
        results = crew.run(JOBS, Events(heard := Heard()))
        first = next(results)
        cluster.remove_node(doomed, allow_graceful=False)
        cluster.add_node(num_cpus=2)
        found = [first.result, *(done.result for done in results)]
        assert sorted(found, key=lambda t: t.number) == expected
        assert any("was lost" in e.facts.get("text", "") for e in heard)
    finally:
        if crew is not None:
            crew.close()
        cluster.shutdown()
