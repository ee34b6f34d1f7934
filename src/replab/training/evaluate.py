"""A model and images → outputs and metrics, in eval mode. It fits nothing and chooses nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from replab.backends.backend import Backend, array
from replab.data.batches import Batches
from replab.models.adapt.views import viewed


@dataclass(frozen=True, eq=False)
class Evaluation:
    metrics: dict[str, float]
    outputs: dict[str, np.ndarray]  # what the task keeps of each image, in the images' order
    seconds: float


def evaluate(model: Any, task: Any, batches: Batches, backend: Backend, device: str, views: str = "none") -> Evaluation:
    """Run the model in eval mode over every image once, in order. The model is left in the mode it was in.

    `views`: test-time augmentation.
    """
    started = perf_counter()
    return evaluated(task, collect(model, task, batches.epoch(0), backend, device, views), started)


Collected = tuple[dict[str, np.ndarray], "np.ndarray | None"]  # outputs and labels of one batch


def collect(
    model: Any, task: Any, batches: Iterable[Any], backend: Backend, device: str, views: str = "none"
) -> list[Collected]:
    """What the task keeps of each batch."""
    was_training = model.training
    collected: list[Collected] = []
    shelves: defaultdict[str, Shelf] = defaultdict(Shelf)
    model.eval()
    seen = viewed(model, views)
    with backend.lib.no_grad(), backend.autocast(device):
        for batch in batches:
            outputs = task.outputs(seen, to_backend(batch, backend))
            labels = None if batch.y is None else shelves["own labels"].keep(array(batch.y))
            collected.append(({name: shelves[name].keep(array(tensor)) for name, tensor in outputs.items()}, labels))
    model.train(was_training)
    return collected


class Shelf:
    """Arrays that are kept from batch to batch, copied into blocks of many.

    Alone, each would stand in the room of a batch that was freed, and the next batch would need new room: the process
    would grow by as much as all images take as floats.
    """

    BATCHES = 64

    def __init__(self) -> None:
        self.block = np.empty(0)

    def keep(self, part: np.ndarray) -> np.ndarray:
        if len(self.block) < len(part) or self.block.shape[1:] != part.shape[1:] or self.block.dtype != part.dtype:
            self.block = np.empty((self.BATCHES * len(part), *part.shape[1:]), part.dtype)
        kept, self.block = self.block[: len(part)], self.block[len(part) :]
        kept[:] = part
        return kept


def evaluated(task: Any, collected: Sequence[Collected], started: float) -> Evaluation:
    """All batches together, measured."""
    outputs = {name: np.concatenate([kept[name] for kept, _ in collected]) for name in collected[0][0]}
    labels = [labels for _, labels in collected if labels is not None]
    metrics = task.measure(outputs, np.concatenate(labels) if labels else None)
    return Evaluation(metrics, outputs, perf_counter() - started)


def to_backend(batch: Any, backend: Backend) -> Any:
    """The input pipeline makes torch tensors; the backend sees its own."""
    if backend.name == "torch":
        return batch
    parts = {name: getattr(batch, name) for name in ("x", "y", "target")}
    return batch._replace(**{name: None if part is None else backend.tensor(part) for name, part in parts.items()})
