"""A model and images → outputs and metrics, in eval mode. It fits nothing and chooses nothing."""

from __future__ import annotations

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
    was_training, started = model.training, perf_counter()
    collected: dict[str, list[np.ndarray]] = {}
    labels: list[np.ndarray] = []
    model.eval()
    seen = viewed(model, views)
    with backend.lib.no_grad(), backend.autocast(device):
        for batch in batches.epoch(0):
            if batch.y is not None:
                labels.append(array(batch.y))
            for name, tensor in task.outputs(seen, to_backend(batch, backend)).items():
                collected.setdefault(name, []).append(array(tensor))
    model.train(was_training)
    outputs = {name: np.concatenate(parts) for name, parts in collected.items()}
    metrics = task.measure(outputs, np.concatenate(labels) if labels else None)
    return Evaluation(metrics, outputs, perf_counter() - started)


def to_backend(batch: Any, backend: Backend) -> Any:
    """The input pipeline makes torch tensors; the backend sees its own."""
    if backend.name == "torch":
        return batch
    parts = {name: getattr(batch, name) for name in ("x", "y", "target")}
    return batch._replace(**{name: None if part is None else backend.tensor(part) for name, part in parts.items()})
