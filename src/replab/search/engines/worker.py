"""A worker process: takes jobs as lines of JSON, and answers with events and results as lines of JSON.

It says that it is ready; the first line it takes is the work. Nothing but plain values goes either way. When the
coordinator is gone, its end of the pipe closes and the worker ends, in the middle of a job too.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import sys
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any, TextIO

from replab.errors import ReplabError
from replab.records.events import Event, Events

OUT_OF_MEMORY = 12  # the exit code of a worker that was refused memory
FOLDER = "replab-search-"  # what the name of a folder with the work's images begins with


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
    except BrokenPipeError:
        os._exit(1)
    except Exception as error:
        from replab.search.engines.base import out_of_memory

        if out_of_memory(error):
            os._exit(OUT_OF_MEMORY)  # as if it had been killed: the job is run again
        if isinstance(error, ReplabError):
            send({"refused": str(error)})
            return
        send({"refused": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"})


def serve(receive: Callable[[], Any], send: Callable[[dict[str, Any]], None]) -> None:
    """Job after job, until an error."""
    import replab.search.work  # noqa: F401 (it brings torch, which takes a second: before there is anything to do)
    from replab.search.engines.base import received

    send({"ready": True})
    work = received(receive())
    events = Events(Sender(send))
    while True:
        job = receive()
        started = perf_counter()
        result = work.do(job, events)
        send({"result": result, "seconds": perf_counter() - started})


def _listen(stdin: TextIO, lines: queue.Queue[str]) -> None:
    folder = ""
    for line in stdin:
        folder = folder or str(json.loads(line).get("folder", ""))
        lines.put(line)
    if os.path.basename(folder).startswith(FOLDER):
        shutil.rmtree(folder, ignore_errors=True)  # the coordinator was killed, and nobody else will
    os._exit(0)


if __name__ == "__main__":
    main()
