"""What a person sees of a run: nested bars in a terminal, a live table in a notebook, plain lines everywhere else."""

from __future__ import annotations

import os
import sys
import textwrap
from time import perf_counter
from typing import Any

from replab.records.events import Event, Subscriber
from replab.records.text import visible
from replab.records.watching.numbers import headline, shown, spelled
from replab.settings.words import duration

LEVELS = ("error", "warning", "info", "debug")  # what --log-level takes, the fewest lines first
UNITS = {"runs": "run", "search": "trial", "train": "epoch", "epoch": "batch", "features": "block"}


def watchers(quiet: bool = False, level: str = "info") -> list[Subscriber]:
    """Who shows a run here. `level`: error shows nothing, warning notes alone, debug a line for everything."""
    if quiet or level == "error":
        return []
    if level != "info":
        return [Lines(level)]
    if in_notebook():
        from replab.records.watching.notebook import LiveTable

        return [LiveTable()]
    return [Bars()] if sys.stderr.isatty() else [Lines()]


def in_notebook() -> bool:
    return "ipykernel" in sys.modules


class Bars:
    """One bar per span, the innermost at the bottom: trials, epochs, batches."""

    def __init__(self) -> None:
        self.bars: list[tuple[str, Any]] = []
        self.best = float("inf")  # validation loss of the trials
        self.workers: dict[int, Any] = {}  # one bar each, below the search's

    def hear(self, event: Event) -> None:
        facts = event.facts
        if "worker" in facts:
            self._hear_worker(event)
        elif event.kind == "begin":
            self._open(facts["what"], facts["total"], facts["done"])
        elif event.kind == "end":
            self._close(facts["what"])
        elif event.kind == "step":
            self._advance(facts["what"])
        elif event.kind == "trial":
            if facts["value"] is not None:
                self.best = min(self.best, facts["value"])
            self._advance("search", f"best loss {self.best:.4g}" if self.best < float("inf") else "")
        elif event.kind == "epoch":
            self._advance("train", headline(facts["row"], columns()))
        elif event.kind in ("message", "cost"):
            print(folded(visible(facts["text"], keep="\n")), flush=True)

    def _hear_worker(self, event: Event) -> None:
        """A bar with what the worker is at: a trial and its epochs, or a run and its trials, then its epochs."""
        facts, worker = event.facts, event.facts["worker"]
        if "job" in facts and "trial" in facts and event.kind != "message":
            return  # a trial inside a run has no bar of its own
        if event.kind == "begin" and facts["what"] in ("search", "train"):
            from tqdm import tqdm

            self._end_worker(worker)
            what = f"{facts['job']}: {facts['what']}" if "job" in facts else f"trial {facts['trial'] + 1}"
            self.workers[worker] = tqdm(
                total=facts["total"], initial=facts["done"], desc=f"worker {worker + 1}, {what}",
                unit=UNITS[facts["what"]], bar_format=bar_format(columns()), leave=False, position=1 + worker,
                dynamic_ncols=True,
            )  # fmt: skip
        elif event.kind in ("epoch", "trial") and worker in self.workers:
            if event.kind == "epoch":
                self.workers[worker].set_postfix_str(headline(facts["row"], columns()), refresh=False)
            self.workers[worker].update()
        elif event.kind == "end" and facts["what"] in ("search", "train"):
            self._end_worker(worker)
        elif event.kind == "message":
            print(named(facts), flush=True)

    def _end_worker(self, worker: int) -> None:
        if worker in self.workers:
            self.workers.pop(worker).close()

    def _open(self, what: str, total: int, done: int) -> None:
        from tqdm import tqdm

        unit = UNITS.get(what, "step")
        bar = tqdm(
            total=total,
            initial=done,
            desc=what,
            unit=unit,
            bar_format=bar_format(columns()),
            leave=not self.bars and unit != "batch",
            position=len(self.bars),
            mininterval=0.2,
            delay=0.5 if unit == "batch" else 0,  # a bar for a short epoch would only flicker
            dynamic_ncols=True,
        )
        self.bars.append((what, bar))

    def _advance(self, what: str, numbers: str = "") -> None:
        for name, bar in self.bars:
            if name == what:
                bar.bar_format = bar_format(columns())  # the window may have changed
                if numbers:
                    bar.set_postfix_str(numbers, refresh=False)
                bar.update()

    def _close(self, what: str) -> None:
        if what in ("search", "runs"):
            for worker in tuple(self.workers):
                self._end_worker(worker)
        while self.bars:
            name, bar = self.bars.pop()
            bar.close()
            if name == what:
                return


def folded(text: str) -> str:
    """Lines that break between words; paths stay whole."""
    look = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": "  "}
    return "\n".join(textwrap.fill(line, columns(), **look) for line in text.split("\n"))  # type: ignore[arg-type]


def columns() -> int:
    """The width of the terminal that bars are drawn in."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return 80


def bar_format(width: int) -> str:
    """The bar takes a sixth of the line, so that loss, accuracy and time left have room from 60 columns on."""
    bar = min(30, max(8, width // 6))
    return f"{{desc}} |{{bar:{bar}}}| {{n_fmt}}/{{total_fmt}}, {{remaining}} left{{postfix}}"


def named(facts: dict[str, Any]) -> str:
    """A message, with the run it is of where several are side by side."""
    text = str(facts["text"])
    return f"{facts['job']}: {text.strip()}" if "job" in facts else text


class Lines:
    """One line per message, trial and epoch of the training: reads well in a file, under nohup and in CI.

    At debug also the epochs of trials and the stages, each line with its time; at warning only notes.
    """

    def __init__(self, level: str = "info") -> None:
        self.level = level
        self.started = self.first = perf_counter()
        self.left = 0  # epochs of this training, when it began

    def hear(self, event: Event) -> None:
        facts = event.facts
        if self.level == "warning":
            if event.kind == "message" and facts["text"].startswith("note: "):
                self._print(facts["text"])
        elif event.kind in ("message", "cost"):
            self._print(named(facts))
        elif "job" in facts and event.kind in ("trial", "epoch"):
            self._hear_job(event)
        elif event.kind == "begin" and facts["what"] in ("search", "train") and "trial" not in facts:
            self.started, self.left = perf_counter(), facts["total"] - facts["done"]
        elif event.kind == "trial":
            value = "no value" if facts["value"] is None else f"validation loss {facts['value']:.4g}"
            params = spelled(facts["params"])
            name = f"trial {facts['number'] + 1}/{facts['total']}"
            self._print(f"{name}: {params or 'as given'}: {value}, {facts['state']}, {facts['seconds']:.1f}s")
        elif event.kind == "epoch" and "trial" not in facts:
            numbers = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in shown(facts["row"]).items())
            left = facts["total"] - facts["epoch"]
            done = self.left - left
            each = (perf_counter() - self.started) / max(done, 1)
            self._print(f"epoch {facts['epoch']}/{facts['total']}: {numbers}, {duration(left * each)} left")
        elif self.level == "debug":
            self._debug(event)

    def _hear_job(self, event: Event) -> None:
        """One of several runs side by side: how far it is."""
        facts = event.facts
        if event.kind == "trial":
            self._print(f"{facts['job']}: trial {facts['number'] + 1}/{facts['total']}: {facts['state']}")
        elif "trial" not in facts:
            numbers = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in shown(facts["row"]).items())
            self._print(f"{facts['job']}: epoch {facts['epoch']}/{facts['total']}: {numbers}")

    def _debug(self, event: Event) -> None:
        facts = event.facts
        if event.kind == "epoch":
            self._print(f"trial {facts['trial'] + 1}, epoch {facts['epoch']}: {spelled(shown(facts['row']))}")
        elif event.kind == "stage":
            self._print(f"{facts['stage']}: {facts['seconds']:.1f}s")

    def _print(self, text: str) -> None:
        if self.level == "debug":
            text = f"[{perf_counter() - self.first:8.1f}s] {text}"
        print(visible(text, keep="\n"), flush=True)
