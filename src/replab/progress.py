"""Progress bars for trials, epochs and batches, with time left; none when nobody is looking, or when told so."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class Progress:
    """Bars nest: trials at 0, epochs at 1, batches at 2. `quiet` shows none."""

    def __init__(self, quiet: bool = False):
        self.quiet = quiet or not (sys.stderr.isatty() or in_notebook())
        self.depth = 0

    def trials(self, items: Iterable[T], total: int, done: int) -> Iterator[T]:
        return self._bar(items, total, done, "search", "trial", leave=True)

    def epochs(self, items: range, total: int) -> Iterator[int]:
        return self._bar(items, total, items.start - 1, "train", "epoch", leave=self.depth == 0)

    def batches(self, items: Iterable[T], total: int) -> Iterator[T]:
        return self._bar(items, total, 0, "epoch", "batch", leave=False)

    def _bar(self, items: Iterable[T], total: int, done: int, what: str, unit: str, leave: bool) -> Iterator[T]:
        if self.quiet:
            yield from items
            return
        from tqdm.auto import tqdm

        bar: Any = tqdm(
            total=total, initial=done, desc=what, unit=unit, leave=leave, position=self.depth, mininterval=0.2
        )
        self.depth += 1
        try:
            for item in items:
                yield item
                bar.update()
        finally:
            self.depth -= 1
            bar.close()


def in_notebook() -> bool:
    return "ipykernel" in sys.modules
