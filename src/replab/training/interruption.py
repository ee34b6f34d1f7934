"""A request to end: SIGTERM (docker stop, Kubernetes, Slurm), SIGHUP, SIGUSR1 (Slurm's warning before it preempts).

Inside an epoch the step that is under way is finished first, and a checkpoint within the epoch is written; elsewhere
the program ends where it is, as after Ctrl-C. A second request does not wait.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

SIGNALS = ("SIGTERM", "SIGHUP", "SIGUSR1")  # Windows has the first alone
EXIT_CODE = 128 + 15


class Terminated(KeyboardInterrupt):
    """Whatever is done after Ctrl-C is done after this too."""


_received: list[str] = []
_steps = 0  # epochs that are under way: a request waits for the end of their step


@contextlib.contextmanager
def listening() -> Iterator[None]:
    """Heed the signals for a while. One that this process was started to ignore, as under nohup, stays ignored."""
    numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    heeded = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _hear) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def received() -> str:
    """The name of the signal that asked to end, or nothing."""
    return _received[0] if _received else ""


def forget() -> None:
    _received.clear()


def heed() -> None:
    """Between two steps: end if that was asked for."""
    if _received:
        raise Terminated(_received[0])


@contextlib.contextmanager
def in_steps() -> Iterator[None]:
    """An epoch, which calls heed() after each of its steps."""
    global _steps
    _steps += 1
    try:
        yield
    finally:
        _steps -= 1


def _hear(number: int, frame: FrameType | None) -> None:
    _received.append(signal.Signals(number).name)
    if not _steps or len(_received) > 1:
        raise Terminated(_received[0])
