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
from replab.search.engines.worker import FOLDER
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

        self.folder = tempfile.TemporaryDirectory(prefix=FOLDER)
        place = Path(self.folder.name)
        for name, content in files.items():
            (place / name).write_bytes(content)
        self.work = received({**sent, "folder": str(place)})
        self.folder.cleanup()  # what is mapped stays; a worker that is killed would leave it
        self.told: list[dict[str, Any]] = []  # of the job under way

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        from replab.search.engines.worker import Sender

        started = perf_counter()
        result = self.work.do(job, Events(Sender(lambda message: self.told.append(message))))
        where = f"node {socket.gethostname()}, process {os.getpid()}"
        told, self.told = self.told, []
        return {"result": result, "seconds": perf_counter() - started, "where": where, "events": told}

    def heard(self, first: int) -> list[dict[str, Any]]:
        """The events of a job from this number on, while it is under way."""
        return self.told[first:]

    def versions(self) -> dict[str, str]:
        return versions()


class RayCluster:
    """One actor per worker, replaced when it or its node is lost."""

    def __init__(self, work: Work, count: int, address: str | None):
        import ray as library

        self.library, self.work, self.count, self.actors = library, work, count, dict[int, Any]()
        self.heard: dict[int, int] = {}  # events of each worker's job
        self.there: dict[int, Any] = {}  # what each answers when it has begun, or is still there after a loss
        self.proven = set[int]()  # workers that have answered once
        self.stillborn = 0  # workers in a row that could not begin
        self.started = not library.is_initialized()
        if self.started:
            connect(address)
        self._compare_versions()
        with tempfile.TemporaryDirectory() as folder:
            self.sent = work.describe(Path(folder))
            if work.device.startswith("cuda:"):
                self.sent["device"] = "cuda"  # the one GPU that Ray lets a worker see
            files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        self.files = library.put(files)  # once, into the object store
        gpus = 1 if work.device.startswith("cuda") else 0
        remote: Any = library.remote  # of which Ray's annotations do not know all
        needs = {"num_cpus": self.sent["threads"], "num_gpus": gpus}
        self.room = count_of(self.sent["threads"], "processor") + (" and a GPU" if gpus else "")
        self.kind = remote(**needs, max_restarts=0, max_concurrency=2)(Actor)  # it answers while it works

    def _compare_versions(self) -> None:
        """With one node, at once; each worker says its own when it begins."""
        task = self.library.remote(num_cpus=0)(versions)
        try:
            self._check(self.library.get(task.remote()))
        except self.library.exceptions.RayError as error:
            self.close()
            raise RunError(
                f"the cluster cannot run replab ({last_line(error)}); install the same versions on its nodes"
            ) from None

    def _check(self, there: dict[str, str]) -> None:
        if there != (here := versions()):
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
                    self.heard[place] = 0
                    running[self.actors[place].run.remote(job.to_dict())] = (place, job)
                elif place not in self.actors:
                    self._start(place)
            busy = {place for place, _ in running.values()}
            starting = [answer for place, answer in self.there.items() if jobs and place not in busy]
            ended, _ = self.library.wait([*running, *starting], num_returns=1, timeout=PAUSE)
            for place in busy:
                self._listen(place, asked, events)
            interruption.heed()
            waiting = perf_counter() if running else waiting
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
                self._ask_again(set(self.actors) - {place for place, _ in running.values()})
                losses[job.number] += 1
                if losses[job.number] >= ATTEMPTS:
                    raise lost(job, ATTEMPTS, "Ray says its actor died") from None
                events.message(f"worker {place + 1} was lost; {job.label} is run again")
                jobs.appendleft(job)
                continue
            self._tell(place, answer["events"][self.heard[place] :], events)
            yield Done(job.number, self.work.result(answer["result"]), answer["seconds"], answer["where"])

    def _start(self, place: int) -> None:
        self.actors[place] = self.kind.remote(self.files, self.sent)
        self.there[place] = self.actors[place].versions.remote()

    def _dismiss(self, place: int) -> None:
        self.library.kill(self.actors.pop(place))
        del self.there[place]
        self.proven.discard(place)

    def _ask_again(self, places: set[int]) -> None:
        """When a worker is lost, perhaps with its node: those that wait take no job before they have answered anew."""
        for place in places:
            self.there[place] = self.actors[place].versions.remote()

    def _has_begun(self, place: int) -> bool:
        """Only then is it given a job: one for which the cluster has no room may never begin.

        One that could not begin, perhaps because its node was just lost, takes no job with it: another is started.
        """
        if place not in self.actors or not self.library.wait([self.there[place]], timeout=0)[0]:
            return False
        try:
            self._check(self.library.get(self.there[place]))
        except self.library.exceptions.RayError as error:
            self.stillborn += place not in self.proven
            self._dismiss(place)
            if self.stillborn >= ATTEMPTS * self.count:
                raise RunError(
                    f"no worker could begin on the cluster (tried {self.stillborn} times): {last_line(error)}"
                ) from None
            return False
        self.proven.add(place)
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
            events.tell(message["event"], **{**message["facts"], "worker": place})

    def close(self) -> None:
        for actor in self.actors.values():
            self.library.kill(actor)
        self.actors.clear()
        if self.started and self.library.is_initialized():
            self.library.shutdown()


def last_line(error: Exception) -> str:
    """Of a traceback, where there is one."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1][:300]


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
