"""torch.utils.benchmark: Timer, on Python's own timeit."""

from __future__ import annotations

import statistics
import timeit
from typing import Any

from mytorch.absent import names_in

__getattr__ = names_in("torch.utils.benchmark")


class Measurement:
    """The seconds per run of each measurement."""

    def __init__(self, times: list[float], number: int, stmt: str):
        self.times, self.number_per_run, self.stmt = times, number, stmt

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    def __repr__(self) -> str:
        return f"<Measurement {self.stmt}: {self.median * 1e6:.2f} us, {self.number_per_run} runs each>"


class Timer:
    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Any = timeit.default_timer,
        globals: dict | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = None,
    ):
        self._stmt = stmt
        self._timer = timeit.Timer(stmt, setup, timer, globals)

    def timeit(self, number: int = 1000000) -> Measurement:
        return Measurement([self._timer.timeit(number) / number], number, self._stmt)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        number, spent = self._timer.autorange()
        times = [spent / number]
        while sum(times) * number < min_run_time:
            times.append(self._timer.timeit(number) / number)
        return Measurement(times, number, self._stmt)

    adaptive_autorange = blocked_autorange
