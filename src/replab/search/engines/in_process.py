"""One job after another, in this process"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from time import perf_counter

from replab.records.events import Events
from replab.search.engines.base import Doing, Done, Numbered, engine


@engine
def in_process(work: Doing, count: int = 1, address: str | None = None) -> InProcess:
    return InProcess(work)


class InProcess:
    count = 1

    def __init__(self, work: Doing):
        self.work = work

    def run(self, jobs: deque[Numbered], events: Events) -> Iterator[Done]:
        while jobs:
            job, started = jobs.popleft(), perf_counter()
            result = self.work.result(self.work.do(job.to_dict(), events))
            yield Done(job.number, result, perf_counter() - started, "this process")

    def close(self) -> None:
        pass
