"""Jobs side by side in processes of this machine, which share one copy of the images"""

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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replab import interruption
from replab.errors import RunError
from replab.files import reason
from replab.records.events import Events
from replab.search.engines.base import ATTEMPTS, Done, Numbered, Work, Workers, engine, lost
from replab.search.engines.worker import FOLDER, OUT_OF_MEMORY
from replab.settings.recipe import Recipe
from replab.settings.searched import at_once


@engine
def processes(work: Work, count: int, address: str | None = None) -> Processes:
    folder = tempfile.TemporaryDirectory(prefix=FOLDER)
    try:
        return Processes(work, count, folder)
    except OSError as error:
        folder.cleanup()
        where = Path(folder.name).parent
        raise RunError(
            f"cannot write what workers need below {where}: {reason(error, where)}; TMPDIR names another folder, and"
            " --workers 1 needs none"
        ) from None


PAUSE = 0.5  # seconds between two looks at whether the program is to end
WORDS = {OUT_OF_MEMORY: "out of memory"}  # exit code → why
TORCHRUN = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"}  # a worker is no part of that team
Inbox = queue.Queue[tuple["Worker", "dict[str, Any] | None"]]


class Worker:
    """A process, and a thread that puts what it says into the inbox: None when it has ended."""

    def __init__(self, place: int, environment: dict[str, str], inbox: Inbox):
        self.place, self.environment, self.inbox = place, environment, inbox
        own = {key: value for key, value in os.environ.items() if key not in TORCHRUN}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "replab.search.engines.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
            env={**own, **environment}, start_new_session=True,  # Ctrl-C is the coordinator's
        )  # fmt: skip
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

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
    """Workers stay for all batches, and are replaced when they are lost.

    They are started at once: they import torch while the coordinator asks for the first batch, if not before.
    """

    def __init__(self, work: Work, count: int, folder: tempfile.TemporaryDirectory[str]):
        self.work, self.count, self.folder = work, count, folder
        self.sent = work.describe(Path(folder.name))
        self.inbox: Inbox = queue.Queue()
        self.workers: dict[int, Worker] = {}
        try:
            for place in range(count):
                self.workers[place] = self._start(place)
        except OSError:
            self.close()
            raise

    def _start(self, place: int) -> Worker:
        environment = variables(self.work.threads, self.work.device, place, self.count)
        worker = waiting.pop(place, None)
        if worker is not None and worker.environment == environment and worker.process.poll() is None:
            worker.inbox = self.inbox
        else:
            if worker is not None:
                worker.end()
            worker = Worker(place, environment, self.inbox)
        worker.send(self.sent)
        return worker

    def run(self, jobs: deque[Numbered], events: Events) -> Iterator[Done]:
        running, losses = dict[int, Numbered](), Counter[int]()
        while jobs or running:
            for place in range(self.count):
                if jobs and place not in running:
                    if place not in self.workers:
                        self.workers[place] = self._start(place)
                    running[place] = jobs.popleft()
                    self.workers[place].send(running[place].to_dict())
            worker, message = self._next()
            place = worker.place
            if self.workers.get(place) is not worker:
                continue  # the last words of one that was replaced
            if message is None:
                del self.workers[place]
                code = worker.process.wait()
                if (job := running.pop(place, None)) is not None:
                    losses[job.number] += 1
                    if losses[job.number] >= ATTEMPTS:
                        how = f"killed by signal {-code}" if code < 0 else WORDS.get(code, f"exit code {code}")
                        raise lost(job, ATTEMPTS, how)
                    events.message(f"worker {place + 1} was lost; {job.label} is run again")
                    jobs.appendleft(job)
            elif "ready" in message:
                continue
            elif "refused" in message:
                what = running[place].label if place in running else "a job"
                raise RunError(f"{what} could not be run: {message['refused']}")
            elif "event" in message:
                events.tell(message["event"], **{**message["facts"], "worker": place})  # a run has workers of its own
            else:
                number = running.pop(place).number
                yield Done(number, self.work.result(message["result"]), message["seconds"], worker.where)

    def _next(self) -> tuple[Worker, dict[str, Any] | None]:
        """What a worker says. A request to end may come first, and workers of one that came to them too."""
        while True:
            with contextlib.suppress(queue.Empty):
                said = self.inbox.get(timeout=PAUSE)
                interruption.heed()
                return said
            interruption.heed()
            for worker in self.workers.values():  # one may have ended just when it was taken over, and said it before
                if not worker.listener.is_alive() and self.inbox.empty():
                    return worker, None

    def close(self) -> None:
        for worker in self.workers.values():
            worker.end()
        self.workers.clear()
        self.folder.cleanup()


def variables(threads: int, device: str, place: int, count: int) -> dict[str, str]:
    """Of a worker's environment: its threads, and a GPU of its own as far as there are several."""
    found = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    if threads * count > (os.cpu_count() or 1):
        found["OMP_WAIT_POLICY"] = "PASSIVE"  # threads that wait leave their core to others
    if device == "cuda":
        import torch

        visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(torch.cuda.device_count())))
        found["CUDA_VISIBLE_DEVICES"] = visible.split(",")[place % max(1, len(visible.split(",")))]
    return found


# Workers without work yet, by their place: they import torch while the coordinator does, which takes seconds.
waiting: dict[int, Worker] = {}


def start_ahead(workers: Workers, recipe: Recipe) -> None:
    """Those of a search on this machine's cores that asks for several; whom the search cannot use, it ends."""
    count, threads = min(workers.count or 1, at_once(recipe)), recipe.search.threads
    if workers.engine == "processes" and count > 1 and threads and recipe.device in ("auto", "cpu"):
        for place in range(min(count, os.cpu_count() or 1)):
            waiting[place] = Worker(place, variables(threads, "cpu", place, count), queue.Queue())


def until_ready() -> None:
    """Return when those that wait have imported what they need: nothing that is timed then runs beside it."""
    for worker in waiting.values():
        with contextlib.suppress(queue.Empty):
            worker.inbox.get(timeout=60)


def end_waiting() -> None:
    while waiting:
        waiting.popitem()[1].end()


@contextlib.contextmanager
def waiting_ended() -> Iterator[None]:
    """Those that nobody has taken by then end with what is done here."""
    try:
        yield
    finally:
        end_waiting()
