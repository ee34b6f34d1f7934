"""What a notebook shows of a run: its messages and a table of the last epochs, rewritten in place as it goes on.

It is plain HTML, no widget: a saved notebook shows the last state and no dead bars.
"""

from __future__ import annotations

import warnings
from html import escape
from time import perf_counter
from typing import Any

from replab.records.events import Event
from replab.records.watching.numbers import SPLITS, shown
from replab.settings.words import duration

ROWS = 10  # epochs shown
PAUSE = 0.3  # seconds between two pictures


class LiveTable:
    """Rewrites its cell's output at every epoch and trial."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.rows: list[dict[str, str]] = []
        self.status = ""
        self.jobs: dict[str, str] = {}  # how far each of several runs is
        self.trials = ""
        self.best = float("inf")
        self.began, self.before = perf_counter(), 0  # of this training; its epochs that were done already
        self.drawn = 0.0
        self.handle: Any = None
        # Optuna imports tqdm's bars for notebooks, which miss widgets that nothing here uses
        warnings.filterwarnings("ignore", message="IProgress not found")

    def hear(self, event: Event) -> None:
        facts = event.facts
        if (
            event.kind == "run" and "job" not in facts and self.handle is not None and self.rows
        ):  # another run of the same call
            self.__init__()  # type: ignore[misc]
        elif "job" in facts:  # one of several side by side
            if event.kind != "epoch" or "trial" in facts:
                return
            self.jobs[facts["job"]] = f"{facts['job']}: epoch {facts['epoch']} of {facts['total']}"
        elif event.kind in ("message", "cost"):
            self.messages.append(facts["text"].strip())
        elif event.kind == "begin" and facts["what"] == "train" and "trial" not in facts:
            self.rows, self.began, self.before = [], perf_counter(), facts["done"]
        elif event.kind == "trial":
            if facts["value"] is not None:
                self.best = min(self.best, facts["value"])
            best = f", best validation loss {self.best:.4g}" if self.best < float("inf") else ""
            self.trials = f"search: trial {facts['number'] + 1} of {facts['total']}{best}"
        elif event.kind == "epoch" and "trial" not in facts:
            done, total = facts["epoch"], facts["total"]
            each = (perf_counter() - self.began) / max(done - self.before, 1)
            left = f", {duration((total - done) * each)} left" if done < total else ""
            self.status = f"training: epoch {done} of {total}{left}"
            self.rows.append({"epoch": str(done), **{_words(name): text for name, text in shown(facts["row"]).items()}})
        else:
            return
        if event.kind != "epoch" or facts.get("epoch") == facts.get("total") or perf_counter() - self.drawn > PAUSE:
            self.draw()

    def draw(self) -> None:
        from IPython.display import HTML, display

        self.drawn = perf_counter()
        if self.handle is None:
            self.handle = display(HTML(self.html()), display_id=True)
        else:
            self.handle.update(HTML(self.html()))

    def html(self) -> str:
        lines = [*self.messages, self.trials, self.status, *self.jobs.values()]
        parts = [f"<div>{escape(line)}</div>" for line in lines if line]
        if self.rows:
            names = list(self.rows[-1])
            head = "".join(f"<th>{escape(name)}</th>" for name in names)
            body = "".join(
                "<tr>" + "".join(f"<td>{escape(row.get(name, ''))}</td>" for name in names) + "</tr>"
                for row in self.rows[-ROWS:]
            )
            parts.append(f"<table><tr>{head}</tr>{body}</table>")
        return "".join(parts)


def _words(name: str) -> str:
    """val_loss → validation loss"""
    split, _, rest = name.partition("_")
    return f"{SPLITS.get(split, split)} {rest.replace('_', ' ')}"
