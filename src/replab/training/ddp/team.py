"""Who trains a model: one process alone, or several that share every batch (ddp/). The loop asks its team."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replab.backends.backend import Backend
from replab.data.batches import Batches
from replab.training.evaluate import Evaluation, evaluate


class Team:
    """One process: everything is its own."""

    rank: int = 0  # of this process in the team
    size: int = 1

    @property
    def place(self) -> tuple[int, ...]:
        """What the seed of an epoch is derived from besides: the first process draws what one alone would draw."""
        return (self.rank,) if self.rank else ()

    def share(self, batches: Batches) -> Any:
        """Of every batch, what this process computes."""
        return batches

    def losses(self, task: Any, model: Any, piece: Any, batch: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        """As the task's, of a batch or a piece of it; gradients of their mean are those of the whole batch."""
        found: Iterator[tuple[str, Any, dict[str, Any]]] = task.losses(model, piece)
        return found

    def pieces(self, batch: Any) -> int:
        """Into how many a batch can be cut, the same for every process: each piece is a step that all make together."""
        return len(batch.index)

    def images(self, batch: Any) -> float:
        """By how many images a mean over what this process computes of a batch counts."""
        return len(batch.index)

    def mean(self, row: dict[str, float], images: float) -> dict[str, float]:
        """Over the images of all processes, from the mean over this one's."""
        return row

    def evaluate(self, model: Any, task: Any, batches: Batches, backend: Backend, device: str) -> Evaluation:
        return evaluate(model, task, batches, backend, device)

    def rows(self, rows: Iterator[Any]) -> Iterator[Any]:
        """The rows of a training, for as long as whoever takes them wants more."""
        return rows


ALONE = Team()
