"""What a person sees of a run: nested bars with time left where there is a terminal or a notebook, else plain lines."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from replab.records.events import Event, Subscriber
from replab.settings.words import duration

UNITS = {"search": "trial", "train": "epoch", "epoch": "batch", "features": "block"}


def watchers(quiet: bool = False) -> list[Subscriber]:
    """Who shows a run here: nobody when quiet, bars where they can be drawn, else lines for a log."""
    if quiet:
        return []
    return [Bars()] if sys.stderr.isatty() or in_notebook() else [Lines()]


def in_notebook() -> bool:
    return "ipykernel" in sys.modules


class Bars:
    """One bar per span, the innermost at the bottom: trials, epochs, batches."""

    def __init__(self) -> None:
        self.bars: list[tuple[str, Any]] = []

    def hear(self, event: Event) -> None:
        facts = event.facts
        if event.kind == "begin":
            self._open(facts["what"], facts["total"], facts["done"])
        elif event.kind == "end":
            self._close(facts["what"])
        elif event.kind == "step":
            self._advance(facts["what"])
        elif event.kind == "trial":
            self._advance("search")
        elif event.kind == "epoch":
            self._advance("train", shown(facts["row"]))
        elif event.kind in ("message", "cost"):
            print(facts["text"], flush=True)

    def _open(self, what: str, total: int, done: int) -> None:
        from tqdm.auto import tqdm

        unit = UNITS.get(what, "step")
        bar = tqdm(
            total=total,
            initial=done,
            desc=what,
            unit=unit,
            leave=not self.bars and unit != "batch",
            position=len(self.bars),
            mininterval=0.2,
            delay=0.5 if unit == "batch" else 0,  # a bar for a short epoch would only flicker
            dynamic_ncols=True,
        )
        self.bars.append((what, bar))

    def _advance(self, what: str, numbers: Mapping[str, str] | None = None) -> None:
        for name, bar in self.bars:
            if name == what:
                if numbers:
                    bar.set_postfix(numbers, refresh=False)
                bar.update()

    def _close(self, what: str) -> None:
        while self.bars:
            name, bar = self.bars.pop()
            bar.close()
            if name == what:
                return


class Lines:
    """One line per message, trial and epoch of the training: reads well in a file, under nohup and in CI."""

    def __init__(self) -> None:
        self.started = perf_counter()
        self.left = 0  # epochs of this training, when it began

    def hear(self, event: Event) -> None:
        facts = event.facts
        if event.kind in ("message", "cost"):
            self._print(facts["text"])
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

    def _print(self, text: str) -> None:
        print(text, flush=True)


def spelled(params: Mapping[str, Any]) -> str:
    """lr 0.00123, hidden 64"""
    return ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in params.items())


def shown(row: Mapping[str, float]) -> dict[str, str]:
    """The losses and accuracies of an epoch, as they are shown."""
    return {k: f"{v:.4g}" for k, v in row.items() if k.endswith(("_loss", "_accuracy"))}
