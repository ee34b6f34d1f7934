"""Trials side by side in processes of this machine, which share one copy of the images"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from replab.errors import RunError
from replab.records.events import Events
from replab.records.trial import Trial
from replab.search.engines.base import ATTEMPTS, Done, Job, engine, lost
from replab.search.work import Work


@engine
def processes(work: Work, count: int, address: str | None = None) -> Processes:
    folder = tempfile.TemporaryDirectory(prefix="replab-search-")
    return Processes(work.describe(Path(folder.name)), count, folder)


class Worker:
    """A process, and a thread that puts what it says into the inbox: None when it has ended."""

    def __init__(self, place: int, sent: dict[str, Any], inbox: queue.Queue[tuple[Worker, dict[str, Any] | None]]):
        self.place, self.inbox = place, inbox
        number = str(sent["threads"])
        caps = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), number)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "replab.search.engines.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
            env={**os.environ, **caps}, start_new_session=True,  # Ctrl-C is the coordinator's
        )  # fmt: skip
        self.send({**sent, "device": device(sent["device"], place)})
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: the inbox will say so
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with contextlib.suppress(json.JSONDecodeError):  # cut off by the end of the process
                self.inbox.put((self, json.loads(line)))
        self.inbox.put((self, None))

    @property
    def where(self) -> str:
        return f"worker {self.place + 1} (process {self.process.pid})"

    def end(self) -> int:
        """Its exit code, or minus the signal that killed it."""
        self.process.kill()
        code = self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                assert pipe is not None
                pipe.close()
        return code


class Processes:
    """Workers are started with the first jobs, stay for all batches, and are replaced when they are lost."""

    def __init__(self, sent: dict[str, Any], count: int, folder: Any = None):
        self.sent, self.count, self.folder = sent, count, folder
        self.workers: dict[int, Worker] = {}
        self.inbox: queue.Queue[tuple[Worker, dict[str, Any] | None]] = queue.Queue()

    def run(self, jobs: Sequence[Job], events: Events) -> Iterator[Done]:
        waiting, running, losses = deque(jobs), dict[int, Job](), Counter[int]()
        while waiting or running:
            for place in range(self.count):
                if waiting and place not in running:
                    if place not in self.workers:
                        self.workers[place] = Worker(place, self.sent, self.inbox)
                    running[place] = waiting.popleft()
                    self.workers[place].send(running[place].to_dict())
            worker, message = self.inbox.get()
            place = worker.place
            if self.workers.get(place) is not worker:
                continue  # the last words of one that was replaced
            if message is None:
                del self.workers[place]
                code = worker.process.wait()
                if (job := running.pop(place, None)) is not None:
                    losses[job.number] += 1
                    if losses[job.number] >= ATTEMPTS:
                        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
                        raise lost(job, ATTEMPTS, how)
                    events.message(f"worker {place + 1} was lost; trial {job.number + 1} is run again")
                    waiting.appendleft(job)
            elif "refused" in message:
                raise RunError(f"trial {running[place].number + 1} could not be run: {message['refused']}")
            elif "event" in message:
                events.tell(message["event"], worker=place, **message["facts"])
            else:
                del running[place]
                yield Done(Trial(**message["trial"]), message["seconds"], worker.where)

    def close(self) -> None:
        for worker in self.workers.values():
            worker.end()
        self.workers.clear()
        if self.folder is not None:
            self.folder.cleanup()


def device(name: str, place: int) -> str:
    """Each worker has a GPU of its own, as far as there are several."""
    if name != "cuda":
        return name
    import torch

    return f"cuda:{place % max(1, torch.cuda.device_count())}"
