"""A request to end: SIGTERM (docker stop, Kubernetes, Slurm), SIGHUP, SIGUSR1 (Slurm's warning before it preempts).

The handler only takes a note. An exception that it raised could come up in a destructor or in a callback of the garbage
collector, where Python prints it and goes on. Whoever works for long asks instead: heed() ends the program there, as
Ctrl-C would. Inside an epoch the step that is under way is finished first, and a checkpoint is written.

A program that has not ended after GRACE seconds is ended as by a kill, which costs what is not on the disk yet; while a
step or its checkpoint is under way it waits on. A second request does not wait.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = ("SIGTERM", "SIGHUP", "SIGUSR1")  # Windows has the first alone
EXIT_CODE = 128 + 15
GRACE = 5.0  # seconds; docker stop kills after 10, Slurm and Kubernetes after 30


class Terminated(KeyboardInterrupt):
    """Whatever is done after Ctrl-C is done after this too."""


_received: list[str] = []
_steps = 0  # epochs that are under way: a request waits for the end of their step
_last_words: list[Callable[[], str]] = []


@contextlib.contextmanager
def listening(last_words: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Heed the signals for a while. One that this process was started to ignore, as under nohup, stays ignored.

    `last_words` are written to stderr where the program cannot end in its own way."""
    numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    heeded = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _hear) for number in heeded}
    _last_words.append(last_words)
    try:
        yield
    finally:
        _last_words.pop()
        for number, handler in before.items():
            signal.signal(number, handler)
        if _received:
            _alarm(0)


def received() -> str:
    """The name of the signal that asked to end, or nothing."""
    return _received[0] if _received else ""


def forget() -> None:
    _received.clear()
    _alarm(0)


def heed(after_step: bool = False) -> None:
    """Where one may end: end if that was asked for. Inside an epoch only `after_step`, when its state was kept."""
    if _received and (after_step or not _steps):
        raise Terminated(_received[0])


@contextlib.contextmanager
def in_steps() -> Iterator[None]:
    """An epoch, which calls heed(after_step=True) after each of its steps."""
    global _steps
    _steps += 1
    try:
        yield
    finally:
        _steps -= 1


def _hear(number: int, frame: FrameType | None) -> None:
    _received.append(signal.Signals(number).name)
    if len(_received) > 1:
        _end()
    _alarm(GRACE)


def _overdue(number: int, frame: FrameType | None) -> None:
    if not _received:
        return
    if not _steps:
        _end()
    _alarm(GRACE)


def _alarm(seconds: float) -> None:
    """Call _overdue() then; 0: no longer."""
    if hasattr(signal, "setitimer"):  # not on Windows
        if seconds:
            signal.signal(signal.SIGALRM, _overdue)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _end() -> None:
    """At once. Written past Python's buffers: one of them may be in use where the signal came."""
    words = _last_words[-1]() if _last_words else ""
    show_cursor = "\x1b[?25h" if os.isatty(2) else ""
    with contextlib.suppress(OSError):
        os.write(2, f"{show_cursor}\nreplab: ended by {_received[0]}{words}\n".encode())
    os._exit(EXIT_CODE)
