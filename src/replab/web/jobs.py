"""Runs that were started from the page: each is the command line as a process of its own, which can be stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from replab.errors import RecipeError, RunError
from replab.records.record import Record, is_run
from replab.settings.recipe import Recipe

MOST = 2  # runs of the page at a time
PATIENCE = 120.0  # seconds until a run's folder must be there
GRACE = 20.0  # seconds to end in after an interrupt
COSTING = 180.0  # seconds to measure a cost in
LINE = 2000  # bytes of what a command said


@dataclass
class Job:
    process: subprocess.Popen[bytes]
    said: IO[bytes] = field(repr=False)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def words(self) -> str:
        """The last line that it printed: how it ended, where it failed."""
        size = os.fstat(self.said.fileno()).st_size
        text = os.pread(self.said.fileno(), LINE, max(0, size - LINE)).decode(errors="replace").strip()
        return text.splitlines()[-1].removeprefix("replab: ") if text else ""


class Jobs:
    """By run id."""

    def __init__(self, runs: Path):
        self.runs, self._jobs = runs, dict[str, Job]()
        self._lock = threading.Lock()

    def start(self, recipe: Recipe, words: Sequence[str]) -> str:
        """`replab run WORDS`, which mean this recipe; the id of its run, as soon as its folder is there."""
        with self._lock:
            self._check_room()
            before = self._ids()
            job = launched(["run", *words, "--runs", str(self.runs)])
            id = self._new_run(job, recipe, before)
            self._jobs[id] = job
            return id

    def resume(self, id: str) -> None:
        with self._lock:
            if id in self._jobs and self._jobs[id].alive:
                raise RunError(f"run {id} goes on already")
            self._check_room()
            self._jobs[id] = launched(["resume", id, "--runs", str(self.runs)])

    def stop(self, id: str) -> None:
        """As Ctrl-C does; what does not end of that is ended."""
        with self._lock:
            job = self._jobs.get(id)
        if job is None or not job.alive:
            raise RunError(f"run {id} was not started here: stop it where it was, with Ctrl-C")
        ended(job)

    def stop_all(self) -> list[str]:
        going = [id for id, job in self._jobs.items() if job.alive]
        for id in going:
            ended(self._jobs[id])
        return going

    def owns(self, id: str) -> bool:
        """Whether it can be stopped here."""
        job = self._jobs.get(id)
        return job is not None and job.alive

    def failure(self, id: str) -> str:
        """What a run that was started here said when it failed."""
        job = self._jobs.get(id)
        code = None if job is None else job.process.poll()
        return job.words() if job is not None and code not in (None, 0, 130, -signal.SIGINT) else ""

    def _check_room(self) -> None:
        going = [id for id, job in self._jobs.items() if job.alive]
        if len(going) >= MOST:
            raise RunError(f"at most {MOST} runs of this page go on at a time, now {', '.join(going)}; stop one first")

    def _ids(self) -> set[str]:
        return {path.name for path in self.runs.iterdir() if is_run(path)}

    def _new_run(self, job: Job, recipe: Recipe, before: set[str]) -> str:
        """The run that was not there before and is of this model, data and seed."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for id in sorted(self._ids() - before):
                made = Record(self.runs / id).recipe()
                if (made.model, made.data, made.seed) == (recipe.model, recipe.data, recipe.seed):
                    return id
            if not job.alive:
                raise RecipeError(job.words() or "the run ended before it began")
            time.sleep(0.05)
        ended(job)
        raise RunError(f"the run did not begin within {PATIENCE:.0f} seconds: {job.words()}")


def cost(words: Sequence[str]) -> str:
    """What a run would take, measured on a few steps by a process that then ends."""
    job = launched(["cost", *words])
    try:
        code = job.process.wait(COSTING)
    except subprocess.TimeoutExpired:
        ended(job)
        raise RunError(f"its cost was not measured within {COSTING:.0f} seconds") from None
    if code:
        raise RecipeError(job.words() or "the cost could not be measured")
    return job.words()


def launched(words: Sequence[str]) -> Job:
    """A process group of its own: Ctrl-C at the page's terminal is not Ctrl-C for its runs."""
    output = tempfile.TemporaryFile()  # noqa: SIM115, it lives as long as the process
    process = subprocess.Popen(
        [sys.executable, "-m", "replab", *words], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    return Job(process, output)


def ended(job: Job) -> None:
    """Interrupted, with its workers; killed where that does not help."""
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.process.wait(GRACE)
            return
