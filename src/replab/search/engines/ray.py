"""Trials on a Ray cluster: this machine's own, or one that is running (--ray-address, $RAY_ADDRESS)"""

from __future__ import annotations

import importlib.metadata
import os
import socket
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from replab.errors import RunError
from replab.records.events import Events
from replab.records.trial import Trial
from replab.search.engines.base import ATTEMPTS, Done, Job, engine, lost
from replab.search.work import Work

ANSWER = 10  # seconds within which a cluster must answer


@engine
def ray(work: Work, count: int, address: str | None = None) -> RayCluster:
    return RayCluster(work, count, address or os.environ.get("RAY_ADDRESS") or None)


def versions() -> dict[str, str]:
    """Another version may compute other numbers."""
    return {name: importlib.metadata.version(name) for name in ("replab", "torch")}


class Actor:
    """A worker of the cluster. It writes the files of the work anew where it runs: nodes share no folder."""

    def __init__(self, files: dict[str, bytes], sent: dict[str, Any], texts: dict[str, str]):
        import torch

        torch.set_num_threads(sent["threads"])  # Ray sets OMP_NUM_THREADS=1, whatever a trial is to run on
        from replab.search.work import received

        self.folder = tempfile.TemporaryDirectory(prefix="replab-search-")
        place = Path(self.folder.name)
        for name, content in files.items():
            (place / name).write_bytes(content)
        here: dict[str, str] = {}
        for number, (named, text) in enumerate(texts.items()):  # users' files, shipped as texts
            file = place / f"part_file_{number}.py"
            file.write_text(text, encoding="utf-8")
            here[named] = f"{file}:{named.rpartition(':')[2]}"
        code = {here[named]: mark for named, mark in sent["code"].items()}  # checked before they are imported
        parts = {name: here.get(named, named) for name, named in sent["parts"].items()}
        model = here.get(sent["model"], sent["model"])
        self.work = received({**sent, "folder": str(place), "model": model, "code": code, "parts": parts})

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        from replab.search.engines.worker import Sender
        from replab.search.one_trial import one_trial

        started, told = perf_counter(), list[dict[str, Any]]()
        events = Events(Sender(told.append)).inside(trial=job["number"])
        trial = one_trial(self.work.learner.recipe, self.work.rows, Job.from_dict(job), events)
        where = f"node {socket.gethostname()}, process {os.getpid()}"
        return {"trial": trial.to_dict(), "seconds": perf_counter() - started, "where": where, "events": told}


class RayCluster:
    """One actor per worker, replaced when it or its node is lost."""

    def __init__(self, work: Work, count: int, address: str | None):
        import ray as library

        self.library, self.count, self.actors = library, count, dict[int, Any]()
        self.started = not library.is_initialized()
        if self.started:
            connect(address)
        self._compare_versions()
        with tempfile.TemporaryDirectory() as folder:
            self.sent = work.describe(Path(folder))
            files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        self.files = library.put(files)  # once, into the object store
        code = (work.learner.source, *work.learner.own.values())
        self.texts = {part.place: part.text for part in code if part.path is not None}
        gpus = 1 if work.learner.device.startswith("cuda") else 0
        self.kind = library.remote(num_cpus=self.sent["threads"], num_gpus=gpus, max_restarts=0)(Actor)

    def _compare_versions(self) -> None:
        here, there = versions(), self.library.get(self.library.remote(num_cpus=0)(versions).remote())
        if here != there:
            self.close()
            words = [", ".join(f"{name} {version}" for name, version in side.items()) for side in (there, here)]
            raise RunError(f"the cluster has {words[0]}, and this machine {words[1]}; install the same on both")

    def run(self, jobs: Sequence[Job], events: Events) -> Iterator[Done]:
        waiting, running, losses = deque(jobs), dict[Any, tuple[int, Job]](), Counter[int]()
        while waiting or running:
            busy = {place for place, _ in running.values()}
            for place in range(self.count):
                if waiting and place not in busy:
                    if place not in self.actors:
                        self.actors[place] = self.kind.remote(self.files, self.sent, self.texts)
                    job = waiting.popleft()
                    running[self.actors[place].run.remote(job.to_dict())] = (place, job)
            (ready,), _ = self.library.wait(list(running), num_returns=1)
            place, job = running.pop(ready)
            try:
                answer = self.library.get(ready)
            except (self.library.exceptions.RayActorError, self.library.exceptions.OutOfMemoryError):
                del self.actors[place]
                losses[job.number] += 1
                if losses[job.number] >= ATTEMPTS:
                    raise lost(job, ATTEMPTS, "Ray says its actor died") from None
                events.message(f"worker {place + 1} was lost; trial {job.number + 1} is run again")
                waiting.appendleft(job)
                continue
            except self.library.exceptions.RayTaskError as error:
                text = " ".join(str(error.cause).split())[:300]
                raise RunError(f"trial {job.number + 1} could not be run: {text}") from None
            for message in answer["events"]:
                events.tell(message["event"], worker=place, **message["facts"])
            yield Done(Trial(**answer["trial"]), answer["seconds"], answer["where"])

    def close(self) -> None:
        for actor in self.actors.values():
            self.library.kill(actor)
        self.actors.clear()
        if self.started and self.library.is_initialized():
            self.library.shutdown()


def check_address(address: str | None) -> None:
    """Refuse one where nothing answers."""
    if address is None or address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER).close()
    except (OSError, ValueError) as error:
        raise RunError(f"no Ray cluster answers at {address} ({error}); ray start --head starts one") from None


def connect(address: str | None) -> None:
    """A cluster that is running, or one of this machine alone. An address where nothing answers is refused at once."""
    import logging
    import warnings

    import ray as library

    check_address(address)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            library.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR,
                         include_dashboard=False if address is None else None)  # fmt: skip
        except (ConnectionError, RuntimeError, TimeoutError) as error:
            raise RunError(f"no Ray cluster at {address}: {' '.join(str(error).split())[:200]}") from None
