"""State: all that a training changes as it goes. A checkpoint keeps its values; a resumed run restores them.

Whatever a new feature carries from one step to the next belongs here, so that a killed run ends as one left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replab.models.parts.whitening import hold_biases
from replab.training.averaging import Average


@dataclass(eq=False)
class State:
    model: Any
    optimizers: Mapping[str, Any]  # one per part of the task
    average: Average | None = None  # of the weights, where the recipe asks for one

    def values(self) -> dict[str, Any]:
        """Tensors and plain values, as the backend's save() takes them; they are those of the model, not copies."""
        average = self.average
        return {
            "model": self.model.state_dict() if average is None else average.trained(),
            "optimizers": {part: optimizer.state_dict() for part, optimizer in self.optimizers.items()},
            **({} if average is None else {"average": average.values()}),
        }

    def restore(self, values: Mapping[str, Any]) -> None:
        """Go back to these values; what an older checkpoint does not have stays as it began."""
        self.model.load_state_dict(values["model"])
        for part, optimizer in values["optimizers"].items():
            self.optimizers[part].load_state_dict(optimizer)
        if self.average is not None and "average" in values:
            self.average.restore(values["average"])

    # -- the loop says where it is -----------------------------------------------------------------------------------

    def begin_epoch(self, epoch: int) -> None:
        """Epochs count from 1."""
        hold_biases(self.model, epoch)
        if self.average is not None:
            self.average.hide()

    def after_step(self, step: int, total: int) -> None:
        if self.average is not None:
            self.average.update(step, total)

    def end_epoch(self) -> None:
        """From here on the model is the one to evaluate and keep."""
        if self.average is not None:
            self.average.show()
