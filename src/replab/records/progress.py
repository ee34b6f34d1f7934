"""Progress bars for trials, epochs and batches, with time left; none when nobody is looking, or when told so."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class Progress:
    """Bars nest: trials at 0, epochs at 1, batches at 2. `quiet` shows none."""

    def __init__(self, quiet: bool = False):
        self.quiet = quiet or not (sys.stderr.isatty() or in_notebook())
        self.bars: list[Any] = []

    def note(self, numbers: Mapping[str, float]) -> None:
        """The latest losses and accuracies, behind the innermost bar."""
        if self.bars:
            shown = {k: f"{v:.4g}" for k, v in numbers.items() if k.endswith(("_loss", "_accuracy"))}
            self.bars[-1].set_postfix(shown, refresh=False)

    def trials(self, items: Iterable[T], total: int, done: int) -> Iterator[T]:
        return self._bar(items, total, done, "search", "trial", leave=True)

    def epochs(self, items: range, total: int) -> Iterator[int]:
        return self._bar(items, total, items.start - 1, "train", "epoch", leave=not self.bars)

    def batches(self, items: Iterable[T], total: int) -> Iterator[T]:
        return self._bar(items, total, 0, "epoch", "batch", leave=False)

    def features(self, items: Iterable[T], total: int) -> Iterator[T]:
        return self._bar(items, total, 0, "features", "block", leave=True)

    def _bar(self, items: Iterable[T], total: int, done: int, what: str, unit: str, leave: bool) -> Iterator[T]:
        if self.quiet:
            yield from items
            return
        from tqdm.auto import tqdm

        bar: Any = tqdm(
            total=total,
            initial=done,
            desc=what,
            unit=unit,
            leave=leave,
            position=len(self.bars),
            mininterval=0.2,
            delay=0.5 if unit == "batch" else 0,  # a bar for a short epoch would only flicker
            dynamic_ncols=True,
        )
        self.bars.append(bar)
        try:
            for item in items:
                yield item
                bar.update()
        finally:
            self.bars.remove(bar)
            bar.close()


def in_notebook() -> bool:
    return "ipykernel" in sys.modules
