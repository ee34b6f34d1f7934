"""Jobs on a Ray cluster: this machine's own, or one that is running (--ray-address, $RAY_ADDRESS)"""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import os
import socket
import tempfile
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from replab import interruption
from replab.errors import RunError
from replab.records.events import Events
from replab.search.engines.address import check_address
from replab.search.engines.base import ATTEMPTS, Done, Numbered, Work, engine, lost, out_of_memory
from replab.settings.words import count as count_of

PAUSE = 0.5  # seconds between two looks at what workers tell
PATIENCE = 20  # seconds without a worker that has begun, after which it is said what is waited for


@engine
def ray(work: Work, count: int, address: str | None = None) -> RayCluster:
    return RayCluster(work, count, address or os.environ.get("RAY_ADDRESS") or None)


def versions() -> dict[str, str]:
    """Another version may compute other numbers."""
    return {name: importlib.metadata.version(name) for name in ("replab", "torch")}


class Actor:
    """A worker of the cluster. It writes the files of the work anew where it runs: nodes share no folder."""

    def __init__(self, files: dict[str, bytes], sent: dict[str, Any]):
        import torch

        torch.set_num_threads(sent["threads"])  # Ray sets OMP_NUM_THREADS=1, whatever a job is to run on
        from replab.search.engines.base import received

        self.folder = tempfile.TemporaryDirectory(prefix="replab-search-")
        place = Path(self.folder.name)
        for name, content in files.items():
            (place / name).write_bytes(content)
        self.work = received({**sent, "folder": str(place)})
        self.told: list[dict[str, Any]] = []

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        from replab.search.engines.worker import Sender

        started = perf_counter()
        result = self.work.do(job, Events(Sender(self.told.append)))
        where = f"node {socket.gethostname()}, process {os.getpid()}"
        return {"result": result, "seconds": perf_counter() - started, "where": where, "events": self.told}

    def heard(self, first: int) -> list[dict[str, Any]]:
        """The events from this number on, also while a job is under way."""
        return self.told[first:]


class RayCluster:
    """One actor per worker, replaced when it or its node is lost."""

    def __init__(self, work: Work, count: int, address: str | None):
        import ray as library

        self.library, self.work, self.count, self.actors = library, work, count, dict[int, Any]()
        self.heard: dict[int, int] = {}  # events of each worker
        self.begun: dict[int, Any] = {}  # what each answers when it has begun
        self.stillborn = 0  # workers in a row that could not begin
        self.started = not library.is_initialized()
        if self.started:
            connect(address)
        self._compare_versions()
        with tempfile.TemporaryDirectory() as folder:
            self.sent = work.describe(Path(folder))
            files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        self.files = library.put(files)  # once, into the object store
        gpus = 1 if work.device.startswith("cuda") else 0
        remote: Any = library.remote  # of which Ray's annotations do not know all
        needs = {"num_cpus": self.sent["threads"], "num_gpus": gpus}
        self.room = count_of(self.sent["threads"], "processor") + (" and a GPU" if gpus else "")
        self.kind = remote(**needs, max_restarts=0, max_concurrency=2)(Actor)  # it answers while it works

    def _compare_versions(self) -> None:
        here, there = versions(), self.library.get(self.library.remote(num_cpus=0)(versions).remote())
        if here != there:
            self.close()
            words = [", ".join(f"{name} {version}" for name, version in side.items()) for side in (there, here)]
            raise RunError(f"the cluster has {words[0]}, and this machine {words[1]}; install the same on both")

    def run(self, jobs: deque[Numbered], events: Events) -> Iterator[Done]:
        running, losses = dict[Any, tuple[int, Numbered]](), Counter[int]()
        asked: dict[int, Any] = {}  # workers of which events have been asked for
        waiting = perf_counter()
        while jobs or running:
            busy = {place for place, _ in running.values()}
            begun = {place: self._has_begun(place) for place in range(self.count) if place not in busy}
            for place in sorted(begun, key=lambda place: not begun[place])[: len(jobs)]:
                if begun[place]:
                    job = jobs.popleft()
                    running[self.actors[place].run.remote(job.to_dict())] = (place, job)
                elif place not in self.actors:
                    self._start(place)
            busy = {place for place, _ in running.values()}
            starting = [answer for place, answer in self.begun.items() if jobs and place not in busy]
            ended, _ = self.library.wait([*running, *starting], num_returns=1, timeout=PAUSE)
            for place in busy:
                self._listen(place, asked, events)
            interruption.heed()
            if not running and perf_counter() - waiting > PATIENCE:
                waiting = math.inf  # said once
                events.message(
                    f"no worker has begun in {PATIENCE} seconds: they are still starting,"
                    f" or no node has {self.room} free; Ctrl-C ends the wait"
                )
            if not ended or ended[0] not in running:
                continue
            (ready,) = ended
            place, job = running.pop(ready)
            asked.pop(place, None)  # what is left comes with the answer
            try:
                answer = self.library.get(ready)
            except (self.library.exceptions.RayError, self.library.exceptions.OutOfMemoryError) as error:
                if isinstance(error, self.library.exceptions.RayTaskError) and not out_of_memory(error.cause):
                    text = " ".join(str(error.cause).split())[:300]
                    raise RunError(f"{job.label} could not be run: {text}") from None
                self._dismiss(place)
                losses[job.number] += 1
                if losses[job.number] >= ATTEMPTS:
                    raise lost(job, ATTEMPTS, "Ray says its actor died") from None
                events.message(f"worker {place + 1} was lost; {job.label} is run again")
                jobs.appendleft(job)
                continue
            self._tell(place, answer["events"][self.heard[place] :], events)
            yield Done(job.number, self.work.result(answer["result"]), answer["seconds"], answer["where"])

    def _start(self, place: int) -> None:
        self.actors[place], self.heard[place] = self.kind.remote(self.files, self.sent), 0
        self.begun[place] = self.actors[place].heard.remote(0)

    def _dismiss(self, place: int) -> None:
        self.library.kill(self.actors.pop(place))
        del self.begun[place]

    def _has_begun(self, place: int) -> bool:
        """Only then is it given a job: one for which the cluster has no room may never begin.

        One that could not begin, perhaps because its node was just lost, takes no job with it: another is started.
        """
        if place not in self.actors or not self.library.wait([self.begun[place]], timeout=0)[0]:
            return False
        try:
            self.library.get(self.begun[place])
        except self.library.exceptions.RayError as error:
            self._dismiss(place)
            self.stillborn += 1
            if self.stillborn >= ATTEMPTS * self.count:
                text = str(error).strip().splitlines()[-1][:300]  # of a traceback, where there is one
                raise RunError(f"no worker could begin on the cluster (tried {self.stillborn} times): {text}") from None
            return False
        self.stillborn = 0
        return True

    def _listen(self, place: int, asked: dict[int, Any], events: Events) -> None:
        """Tell what a worker has told since it was asked last. One that is not ready is not waited for."""
        if place not in asked:
            asked[place] = self.actors[place].heard.remote(self.heard[place])
        if self.library.wait([asked[place]], timeout=0)[0]:
            with contextlib.suppress(self.library.exceptions.RayError):  # it was lost: the job itself says so
                self._tell(place, self.library.get(asked.pop(place)), events)

    def _tell(self, place: int, messages: list[dict[str, Any]], events: Events) -> None:
        self.heard[place] += len(messages)
        for message in messages:
            events.tell(message["event"], worker=place, **message["facts"])

    def close(self) -> None:
        for actor in self.actors.values():
            self.library.kill(actor)
        self.actors.clear()
        if self.started and self.library.is_initialized():
            self.library.shutdown()


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
