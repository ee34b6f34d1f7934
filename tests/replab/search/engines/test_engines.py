"""Every engine keeps one contract: the numbers of a search are those of one process, whoever is lost on the way."""

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest
from engine_contract import (
    JOBS,
    NET,
    SETTINGS,
    STANDARD,
    Heard,
    hashes,
    in_order,
    keeps_the_contract,
    survives_lost_workers,
)

from replab import api
from replab.errors import ModelError, RecipeError, RunError
from replab.records.events import Events
from replab.search.engines import address, processes
from replab.search.engines.base import Workers, engine
from replab.search.hire import hire
from replab.search.work import received
from replab.settings.recipe import Recipe

pytestmark = pytest.mark.usefixtures("no_reports")

ENGINES = engine.names()
METHODS = {"batches": SETTINGS, "halving": STANDARD}


def trials(work, name, jobs, events=None, count=2):
    crew = hire(work, Workers(count, name))
    try:
        return in_order(crew.run(deque(jobs), events or Events()))
    finally:
        crew.close()
        crew.close()


@pytest.fixture(scope="module", params=[name for name in ENGINES if name != "ray"])  # which has a file of its own
def crew(request, work):
    made = hire(work, Workers(2, request.param))
    yield made
    made.close()
    made.close()


def test_contract(crew, expected, orders):
    keeps_the_contract(crew, expected)
    if crew.count > 1:  # one process has no worker to lose
        survives_lost_workers(crew, expected, orders)


def test_workers_start_while_the_coordinator_prepares_and_end_if_nobody_takes_them(model, tmp_path, monkeypatch):
    begun, start = [], processes.start_ahead

    def noted(*given):
        start(*given)
        begun.append([worker.process for worker in processes.waiting.values()])

    monkeypatch.setattr(processes, "start_ahead", noted)
    run = api.run(model, **SETTINGS, runs=tmp_path, workers=2, quiet=True)
    lines = map(json.loads, (run.folder / "events.jsonl").read_text().splitlines())
    used = {line["where"] for line in lines if line["event"] == "trial"}
    assert used == {f"worker {place} (process {process.pid})" for place, process in enumerate(begun[0], 1)}
    with pytest.raises(ModelError):
        api.run(model, **SETTINGS, params={"depth": 3}, runs=tmp_path, workers=2, quiet=True)
    api.run(model, **SETTINGS, lr=0.01, epochs=1, runs=tmp_path, workers=2, quiet=True)  # nothing to search for
    api.run(model, **SETTINGS, runs=tmp_path, workers=1, quiet=True)
    assert [len(processes) for processes in begun] == [2, 2, 0, 0]
    assert all(process.poll() is not None for each in begun for process in each)
    assert not processes.waiting


def test_a_worker_that_dies_as_it_is_taken_over_is_noticed(work, expected, monkeypatch):
    """What it says of its end goes to the inbox of before."""
    made, first = processes.Worker, []

    class Unheard(made):
        def send(self, message):
            if not first:
                first.append(self)
                self.inbox, kept = queue.Queue(), self.inbox
                self.process.kill()
                self.listener.join()
                self.inbox = kept
            super().send(message)

    monkeypatch.setattr(processes, "Worker", Unheard)
    assert trials(work, "processes", JOBS) == expected
    assert first[0].process.poll() is not None


def test_a_worker_that_waits_with_other_threads_or_has_died_is_replaced(work, expected):
    for threads, end in ((2, False), (1, True)):
        search = {"threads": threads, "batch": 4, "trials": 5}
        processes.start_ahead(Workers(2), Recipe(device="cpu").replace(search=search))
        waited = list(processes.waiting.values())
        processes.until_ready()
        for worker in waited if end else ():
            worker.process.kill()
            worker.process.wait()
        assert trials(work, "processes", JOBS) == expected
        assert all(worker.process.poll() is not None for worker in waited)


def test_work_travels_as_plain_values(work, tmp_path):
    sent = json.loads(json.dumps(work.describe(tmp_path)))
    again = received(sent)
    assert (again.train.pixels == work.train.pixels).all()
    assert (again.validation.labels == work.validation.labels).all()
    assert not again.train.pixels.flags.owndata  # mapped, not copied
    assert again.learner.recipe == work.learner.recipe
    assert again.threads == work.threads == 1


def test_a_changed_file_is_not_imported(work, model, tmp_path):
    sent = work.describe(tmp_path)
    changed, mark = tmp_path / "net.py", work.learner.source.sha256

    def moved(place):
        return received({**sent, "model": place, "code": {place: mark}})

    assert moved("/nowhere/net.py:build").learner.source.sha256 == mark  # from its text, which is sent along
    (tmp_path / "code-0.py").unlink()
    changed.write_text(NET + "raise SystemExit('it was imported')\n")
    with pytest.raises(ModelError, match="is not the file that the search began with"):
        moved(f"{changed}:build")


@pytest.mark.parametrize(
    ("order", "how", "attempts"), [("kill", "killed by signal 9", 3), ("huge", "out of memory", 1)]
)
def test_a_trial_that_takes_every_worker_ends_the_search(order, how, attempts, work, orders, monkeypatch):
    assert processes.ATTEMPTS == 3
    monkeypatch.setattr(processes, "ATTEMPTS", attempts)
    for number in range(attempts + 1):
        (orders / f"{order}-{number}").touch()
    said = rf"trial 1 has lost {attempts} workers \({how}\), perhaps for want of memory; .* fewer --workers"
    with pytest.raises(RunError, match=said):
        trials(work, "processes", JOBS[:1], count=1)
    (left,) = orders.iterdir()
    left.unlink()


def test_a_model_of_this_session_is_searched_here_or_refused(tmp_path, monkeypatch):
    def build(image):
        from torch import nn

        return nn.Sequential(nn.Flatten(), nn.Linear(64, image.classes))

    monkeypatch.setattr(build, "__module__", "__main__")
    said = "needs code that can be sent to a worker: .*build is code of this session; put it into a file"
    for asked, workers in {"--workers 2": 2, "--engine ray": Workers(None, "ray")}.items():
        with pytest.raises(ModelError, match=f"^{asked} {said}"):
            api.run(build, runs=tmp_path / "runs", workers=workers, quiet=True, **SETTINGS)
    assert not (tmp_path / "runs").exists()
    assert api.run(build, runs=tmp_path / "runs", workers="auto", quiet=True, **SETTINGS).finished


@pytest.fixture(scope="module")
def alone(model, tmp_path_factory):
    """By batches with TPE, and by halving: what one process makes of them."""
    return {
        name: hashes(api.run(model, runs=tmp_path_factory.mktemp(name), workers=1, quiet=True, **settings).folder)
        for name, settings in METHODS.items()
    }


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("method", METHODS)
def test_the_same_bytes_for_any_number_of_workers(method, workers, model, alone, tmp_path):
    run = api.run(model, runs=tmp_path, workers=workers, quiet=True, **METHODS[method])
    assert hashes(run.folder) == alone[method]
    heard = (run.folder / "events.jsonl").read_text()
    assert all(f"worker {n + 1} (process" in heard for n in range(2))
    assert "workers" not in (run.folder / "recipe.toml").read_text()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_ended_coordinator_leaves_no_worker_and_another_number_goes_on(how, model, alone, tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(Recipe(model=model).replace(**SETTINGS).to_toml())
    runs = tmp_path / "runs"
    words = [sys.executable, "-m", "replab", "run", "--recipe", recipe, "--runs", runs, "--workers", "2"]
    (tmp_path / "temporary").mkdir()
    process = subprocess.Popen(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
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
    assert not list((tmp_path / "temporary").glob("replab-search-*"))  # with the images
    (folder,) = runs.glob("*")
    workers = 1 if how == signal.SIGKILL else 3
    assert hashes(api.resume(folder, workers=workers, quiet=True).folder) == alone["batches"]


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
        (("2", "ray", "ray-head"), "--ray-address must be HOST:PORT, got ray-head; for example ray-head:6379"),
        (("2", "in-process"), "--engine in-process runs one after another, got --workers 2; leave one of them out"),
    ],
)
def test_what_cannot_be_is_refused(asked, said):
    from replab.errors import ReplabError

    with pytest.raises(ReplabError) as error:
        Workers.asked(*asked)
    assert said in str(error.value)
    assert isinstance(error.value, RecipeError) or "engine" in said or "ray" in said


def answer(server, content):
    """To the first who calls."""
    with server, server.accept()[0] as line:
        line.sendall(content)
        line.recv(2**16)


def test_ray_is_refused_in_one_line_where_it_cannot_be(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setattr(address, "ANSWER", 0.2)
        threading.Thread(target=lambda: answer(other, b"HTTP/1.1 400 Bad Request\r\n\r\n")).start()
        ports = {
            1: ".*refused",
            silent.getsockname()[1]: "timed out",
            other.getsockname()[1]: "what is there is not Ray",
        }
        pages = socket.create_server(("127.0.0.1", 0))  # an ordinary server of HTTP/2: its settings, then 404
        found = [b"\0\0\0\4\0\0\0\0\0", b"\0\0\0\4\1\0\0\0\0", b"\0\0\1\1\5\0\0\0\1\x8d"]
        threading.Thread(target=lambda: answer(pages, b"".join(found))).start()
        ports[pages.getsockname()[1]] = "what is there is not Ray"
        for port, why in ports.items():
            where = f"127.0.0.1:{port}"
            with pytest.raises(
                RunError, match=rf"^no Ray cluster answers at {where} \({why}\); ray start --head starts"
            ):
                api.run("mlp", runs=tmp_path, workers=Workers(2, "ray", where), quiet=True, fast=True)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RunError, match=r"pip install 'replab\[ray\]'$"):
        Workers.asked(2, "ray")


def test_a_container_may_allow_less_memory_than_the_machine_has(tmp_path, monkeypatch):
    from replab.search import hire as hiring

    monkeypatch.setattr(hiring, "CGROUP", tmp_path)
    free = hiring.fits(2**20)
    for name, text in (("max", "500000000\n"), ("current", "100000000\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    assert hiring.fits(2**20) == min(free, 400_000_000 // 2**20) == 381
    (tmp_path / "memory.max").write_text("max\n")
    assert hiring.fits(2**20) > 381


def test_more_workers_than_memory_has_room_for(work, monkeypatch):
    from replab.search import hire as hiring
    from replab.training import cost

    monkeypatch.setattr(hiring, "fits", lambda each: 1)
    measured = cost.measure(work.learner)
    with pytest.raises(RunError, match=r"^--workers 3 needs about .* GiB, more than is free: 1 fit; --workers 1$"):
        hiring.settle(Workers(3), work.learner, measured, Events())
    assert hiring.settle(Workers(), work.learner, measured, Events()).count == 1


@pytest.mark.parametrize(
    ("search", "said"),
    [
        ({}, "workers: 2 processes, 1 thread each; search at most 4.0s"),
        ({"threads": 2}, "workers: 2 processes, 2 threads each; search at most 4.0s"),
        ({"threads": 0}, "workers: 2 processes, all threads each; search at most 4.0s"),
        ({"batch": 1}, "--workers 2 is not used: search.batch = 1 asks for each trial after the one before; "
                       "--search-batch 4 has four open"),
    ],
)  # fmt: skip
def test_what_workers_will_take_is_said_before_the_start(search, said, work):
    from replab.search.hire import settle
    from replab.training import cost

    learner = replace(work.learner, recipe=work.learner.recipe.replace(search=search))
    measured = replace(cost.measure(work.learner), search_seconds=8.0)
    found = settle(Workers(2), learner, measured, Events(heard := Heard()))
    assert [event.facts["text"] for event in heard] == [said]
    assert found.count == (1 if "not used" in said else 2)


def test_a_model_without_a_search_says_so(tmp_path):
    heard = Heard()
    settings = {"epochs": 1, "limit": 40, "params": {"latent": 4, "width": 4}}
    api.run("dcgan", runs=tmp_path, workers=2, events=Events(heard), **settings)  # a GAN
    said = "dcgan has nothing to search for: --workers serves several seeds (--seeds) or values (replab sweep) only"
    assert said in [e.facts.get("text") for e in heard]


def test_no_more_workers_than_trials_that_are_left():
    from replab.search.hire import ALONE, at_most

    assert at_most(Workers(4), 9) == Workers(4)
    assert at_most(Workers(4), 3) == Workers(3)
    assert at_most(Workers(4), 1) == at_most(Workers(4), 0) == ALONE
    assert at_most(Workers(4, "ray", "head:6379"), 1) == Workers(4, "ray", "head:6379")


def test_what_a_worker_may_use(monkeypatch):
    """Threads as the recipe says, and a GPU of its own as long as there are enough, of those that may be seen."""
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    found = processes.variables(3, "cpu", 0, 2)
    assert {found[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")} == {"3"}
    assert "CUDA_VISIBLE_DEVICES" not in found
    gpus = [processes.variables(1, "cuda", place, 3)["CUDA_VISIBLE_DEVICES"] for place in range(3)]
    assert gpus == ["0", "1", "0"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    assert processes.variables(1, "cuda", 1, 2)["CUDA_VISIBLE_DEVICES"] == "7"
