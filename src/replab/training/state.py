"""State: all that a training changes as it goes. A checkpoint keeps its values; a resumed run restores them.

Whatever a new feature carries from one step to the next belongs here, so that a killed run ends as one left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from replab import interruption
from replab.backends.backend import array
from replab.errors import FileError
from replab.models.parts.whitening import hold_biases
from replab.training.averaging import Average


@dataclass(eq=False)
class State:
    model: Any
    optimizers: Mapping[str, Any]  # one per part of the task
    average: Average | None = None  # of the weights, where the recipe asks for one
    lib: Any = None  # torch or mytorch: whose generator dropout draws from
    logs: list[dict[str, Any]] = field(default_factory=list)  # of the steps of the epoch that is under way
    sizes: list[float] = field(default_factory=list)  # and their images
    generator: Any = None  # where it was when an epoch was interrupted
    keep: Callable[[], None] | None = None  # writes a checkpoint within an epoch,
    every: float = inf  # after so many seconds without one, or when the program is asked to end

    def values(self) -> dict[str, Any]:
        """Tensors and plain values, as the backend's save() takes them; they are those of the model, not copies."""
        average = self.average
        return {
            "model": self.model.state_dict() if average is None else average.trained(),
            "optimizers": {part: optimizer.state_dict() for part, optimizer in self.optimizers.items()},
            **({} if average is None else {"average": average.values()}),
            **({"within": self._within()} if self.sizes else {}),
        }

    def restore(self, values: Mapping[str, Any]) -> None:
        """Go back to these values; what an older checkpoint does not have stays as it began."""
        self.model.load_state_dict(values["model"])
        for part, optimizer in values["optimizers"].items():
            self.optimizers[part].load_state_dict(optimizer)
        if self.average is not None and "average" in values:
            self.average.restore(values["average"])
        if "within" in values:
            within = values["within"]
            self.sizes, self.generator = list(within["sizes"]), within["generator"]
            self.logs = [
                {name: of_steps[i] for name, of_steps in within["logs"].items()} for i in range(len(self.sizes))
            ]

    def _within(self) -> dict[str, Any]:
        """What an epoch that is begun in its middle needs besides: it alone stores the state of a generator."""
        logs = {
            name: [float(array(entry[name]).mean(dtype=np.float64)) for entry in self.logs] for name in self.logs[0]
        }
        return {
            "sizes": list(self.sizes),
            "logs": {name: self.lib.from_numpy(np.array(means)) for name, means in logs.items()},
            "generator": [self.lib.get_rng_state(), *(self.lib.cuda.get_rng_state_all() if self._on_gpu() else ())],
        }

    def _on_gpu(self) -> bool:
        return any(value.is_cuda for value in self.model.parameters() if hasattr(value, "is_cuda"))

    # -- the loop says where it is -----------------------------------------------------------------------------------

    def begin_epoch(self, epoch: int) -> int:
        """How many steps of it were made before an interruption, with the generator as it was then. From epoch 1."""
        hold_biases(self.model, epoch)
        if self.average is not None:
            self.average.hide()
        self._kept = perf_counter()
        if self.generator is None:
            return 0
        first, *others = self.generator
        self.lib.set_rng_state(first)
        if others:
            self.lib.cuda.set_rng_state_all(others)
        self.generator = None
        return len(self.sizes)

    def after_step(self, step: int, total: int, log: dict[str, Any], size: float) -> None:
        self.logs.append(log)
        self.sizes.append(size)
        if self.average is not None:
            self.average.update(step, total)
        asked = interruption.received()
        if self.keep is not None and (asked or perf_counter() - self._kept > self.every):
            try:
                self.keep()
            except FileError:
                if not asked:  # else the last checkpoint has to do
                    raise
            self._kept = perf_counter()
        interruption.heed(after_step=True)

    def end_epoch(self) -> tuple[list[dict[str, Any]], list[float]]:
        """The logs and sizes of its steps. From here on the model is the one to evaluate and keep."""
        if self.average is not None:
            self.average.show()
        made = self.logs, self.sizes
        self.logs, self.sizes = [], []
        return made
