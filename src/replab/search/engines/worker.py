"""A worker process: takes jobs as lines of JSON, and answers with events and trials as lines of JSON.

The first line is the work. Nothing but plain values goes either way. When the coordinator is gone, its end of the pipe
closes and the worker ends, in the middle of a trial too.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any, TextIO

from replab.errors import ReplabError
from replab.records.events import Event, Events


class Sender:
    """Sends what it hears, but for single batches: there are thousands."""

    def __init__(self, send: Callable[[dict[str, Any]], None]):
        self.send = send

    def hear(self, event: Event) -> None:
        if event.facts.get("what") != "epoch":
            self.send({"event": event.kind, "facts": event.facts})


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a model prints is no answer
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(sys.stdin, lines), daemon=True).start()

    def send(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        serve(lambda: json.loads(lines.get()), send)
    except (MemoryError, BrokenPipeError):
        os._exit(1)  # as if it had been killed: the trial is run again
    except ReplabError as error:
        send({"refused": str(error)})
    except Exception as error:
        if "can't allocate memory" in str(error) or "out of memory" in str(error):
            os._exit(1)
        send({"refused": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"})


def serve(receive: Callable[[], Any], send: Callable[[dict[str, Any]], None]) -> None:
    """Job after job, until an error."""
    from replab.search.engines.base import Job
    from replab.search.one_trial import one_trial
    from replab.search.work import received

    work = received(receive())
    events = Events(Sender(send))
    while True:
        job = Job.from_dict(receive())
        started = perf_counter()
        trial = one_trial(work.learner.recipe, work.rows, job, events.inside(trial=job.number))
        send({"trial": trial.to_dict(), "seconds": perf_counter() - started})


def _listen(stdin: TextIO, lines: queue.Queue[str]) -> None:
    for line in stdin:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
