"""Ray, on a cluster of two nodes: the contract of all engines, the bytes of one process, and a node that is lost.

One cluster and one connection serve all tests of this file, in this order: the last one takes the node away.
"""

import importlib.metadata
import re
import threading
import time
from collections import deque
from pathlib import Path

import pytest
from engine_contract import (
    JOBS,
    SEARCH,
    SETTINGS,
    Heard,
    hashes,
    in_order,
    keeps_the_contract,
    survives_lost_workers,
    work_of,
)

from replab import api, several
from replab.errors import RunError
from replab.records.events import Events
from replab.search.engines.base import Workers
from replab.search.engines.in_process import InProcess
from replab.search.engines.ray import Actor, connect
from replab.search.hire import hire

PAGE = Path(__file__).parents[4] / "docs/scale.md"
pytestmark = pytest.mark.usefixtures("no_reports")


def test_a_cluster_of_another_version_is_refused(work, monkeypatch):
    """A Ray of this machine. This process says that it is of another version; the workers are of the real one."""
    import ray

    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "9.9" if name == "torch" else real(name))
    there = f"replab {real('replab')}, torch {real('torch')}"
    said = rf"^the cluster has {there}, and this machine replab .*, torch 9.9; install the same on both$"
    with pytest.raises(RunError, match=said.replace("+", r"\+")):
        hire(work, Workers(1, "ray"))
    assert not ray.is_initialized()


@pytest.fixture(scope="module")
def cluster(orders):
    """A head without processors, and a node with more than the machine has: only their number is looked at.

    A lost node is noticed in seconds, not in a quarter of a minute, and workers do not wait for the tests beside them.
    """
    import ray
    from ray.cluster_utils import Cluster

    quick = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 1000, "worker_niceness": 0}
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": quick}
    made = Cluster(initialize_head=True, head_node_args=head)
    made.add_node(num_cpus=6)
    connect(made.address)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def crew(cluster, work):
    made = hire(work, Workers(2, "ray"))
    yield made
    made.close()
    made.close()


def test_contract(crew, expected):
    keeps_the_contract(crew, expected)


def test_lost_workers_change_nothing(crew, expected, orders):
    survives_lost_workers(crew, expected, orders)


def test_workers_that_were_lost_while_they_waited_take_one_life_of_a_trial_at_most(cluster, work, expected):
    """As at the end of a search: one trial is left for three workers, whose node is gone."""
    import ray

    crew = hire(work, Workers(3, "ray"))
    try:
        list(crew.run(deque(JOBS), Events()))
        for actor in crew.actors.values():
            ray.kill(actor)
        found = in_order(crew.run(deque(JOBS[:1]), Events(heard := Heard())))
    finally:
        crew.close()
    assert found == expected[:1]
    assert sum("was lost" in e.facts.get("text", "") for e in heard) <= 1


def test_a_worker_keeps_no_copy_of_the_images_on_disk(work, tmp_path, monkeypatch):
    """It has them mapped; when it is killed nobody could remove the files."""
    sent = work.describe(tmp_path)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    worker = Actor(files, sent)
    assert not Path(worker.folder.name).exists()
    first = worker.run(JOBS[0].to_dict())
    assert [e["event"] for e in first["events"]].count("epoch") == 3
    assert worker.run(JOBS[0].to_dict())["result"] == first["result"]
    assert worker.heard(0) == []  # a job's events go with its answer, and are not sent again


def test_own_parts_go_along(cluster, model, expected):
    """A loss and an augmentation of the user's file, beside the model of it; on two threads, where Ray's own is one."""
    file = model.rpartition(":")[0]
    work = work_of(model, loss=f"{file}:doubled", augment=("flip", f"{file}:shade"), search={**SEARCH, "threads": 2})
    crew = hire(work, Workers(2, "ray"))
    try:
        found = in_order(crew.run(deque(JOBS[:2]), Events()))
    finally:
        crew.close()
    assert found == in_order(InProcess(work).run(deque(JOBS[:2]), Events()))
    assert found != expected[:2]


def test_a_worker_without_room_is_not_waited_for(cluster, crew, model):
    """The other workers of this file leave four processors: one of these two has to wait, and the other does it all."""
    work = work_of(model, search={**SEARCH, "threads": 3})
    alone = hire(work, Workers(2, "ray"))
    try:
        done = list(alone.run(deque(JOBS), Events()))
    finally:
        alone.close()
    assert in_order(done) == in_order(InProcess(work).run(deque(JOBS), Events()))
    assert len({one.where for one in done}) == 1


def test_room_for_no_worker_is_said(cluster, crew, model, monkeypatch):
    monkeypatch.setattr("replab.search.engines.ray.PATIENCE", 0)

    class Leaving:
        def hear(self, event):
            raise KeyboardInterrupt(event.facts["text"])

    unfit = hire(work_of(model, search={**SEARCH, "threads": 7}), Workers(1, "ray"))
    try:
        with pytest.raises(KeyboardInterrupt, match="no node has 7 processors free"):
            list(unfit.run(deque(JOBS), Events(Leaving())))
    finally:
        unfit.close()


def test_workers_that_cannot_begin_end_the_search(cluster, work):
    """The work cannot be made where they run: no trial is to blame for it."""
    crew = hire(work, Workers(1, "ray"))
    crew.sent["made_by"] = "replab.nowhere:made"
    try:
        with pytest.raises(RunError, match=r"could begin on the cluster \(tried 3 times\): .*'replab\.nowhere'$"):
            list(crew.run(deque(JOBS), Events()))
    finally:
        crew.close()


@pytest.fixture(scope="module")
def alone(model, tmp_path_factory):
    runs = several.run_seeds([model], 2, runs=tmp_path_factory.mktemp("alone"), workers=1, quiet=True, **SETTINGS)
    return [hashes(run.folder) for run in runs]


class Interrupted:
    """Ctrl-C when the fourth trial is there: a whole batch."""

    def hear(self, event):
        if event.kind == "trial" and event.facts["number"] == 3:
            raise KeyboardInterrupt


@pytest.mark.parametrize("ends", ["in-process", "ray"])
def test_the_same_bytes_of_a_search_that_is_interrupted(ends, cluster, model, alone, tmp_path):
    """Begun on Ray, and ended by another engine or by another number of workers: then all of it is Ray's."""
    crew = Workers(4, "ray", cluster.address)
    with pytest.raises(KeyboardInterrupt):
        api.run(model, runs=tmp_path, workers=crew, events=Events(Interrupted()), **SETTINGS)
    (folder,) = tmp_path.iterdir()
    assert (folder / "events.jsonl").read_text().count('"where": "node ') >= 3  # the last one was not written down
    other = Workers(2, "ray", cluster.address) if ends == "ray" else 1
    assert hashes(api.resume(folder, workers=other, quiet=True).folder) == alone[0]


def test_the_same_bytes_of_runs_side_by_side(cluster, model, alone, tmp_path):
    runs = several.run_seeds([model], 2, runs=tmp_path, workers=Workers(2, "ray"), quiet=True, **SETTINGS)
    assert [hashes(run.folder) for run in runs] == alone


def test_the_commands_of_the_page(cluster, replab, in_tmp, monkeypatch):
    """docs/scale.md, with the cluster's address, or with its own in the environment as KubeRay sets it."""
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    lines = [line.partition("#")[0] for line in PAGE.read_text().splitlines() if line.startswith("replab ")]
    commands = {re.sub(r"(?<=--ray-address )\S+", cluster.address, line.strip()) for line in lines if "ray" in line}
    assert len(commands) == 2
    for command in commands:
        code, out, err = replab(*command.split()[1:], "--fast", "--limit", 60, "--runs", in_tmp / "runs")
        assert code == 0, (command, out, err)
    events = [path.read_text() for path in (in_tmp / "runs").glob("*/events.jsonl")]
    assert len(events) == 2
    assert all('"where": "node ' in text for text in events)


def test_a_lost_node_changes_nothing(cluster, crew, expected, orders):
    """The node is removed while two trials run on it. Another is there by then, and takes all three."""
    (doomed,) = [node for node in cluster.list_all_nodes() if node is not cluster.head_node]
    cluster.add_node(num_cpus=6)
    (orders / "hold").touch()

    def lose():
        try:
            while len(held := sorted(orders.glob("held-*"))) < 2:
                time.sleep(0.05)
            cluster.remove_node(doomed, allow_graceful=False)
            while any(Path("/proc", file.name.partition("-")[2]).exists() for file in held):  # they end with their node
                time.sleep(0.05)
        finally:
            (orders / "hold").unlink()

    losing = threading.Thread(target=lose)
    losing.start()
    found = in_order(crew.run(deque(JOBS), Events(heard := Heard())))
    losing.join()
    said = [e.facts["text"] for e in heard if "was lost" in e.facts.get("text", "")]
    assert found == expected
    assert sorted(said) == [f"worker {n} was lost; trial {n} is run again" for n in (1, 2)], said
