"""State: all that a training changes as it goes. A checkpoint keeps its values; a resumed run restores them.

Whatever a new feature carries from one step to the next belongs here, so that a killed run ends as one left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class State:
    model: Any
    optimizers: Mapping[str, Any]  # one per part of the task

    def values(self) -> dict[str, Any]:
        """Tensors and plain values, as the backend's save() takes them; they are those of the model, not copies."""
        return {
            "model": self.model.state_dict(),
            "optimizers": {part: optimizer.state_dict() for part, optimizer in self.optimizers.items()},
        }

    def restore(self, values: Mapping[str, Any]) -> None:
        """Go back to these values; what an older checkpoint does not have stays as it began."""
        self.model.load_state_dict(values["model"])
        for part, optimizer in values["optimizers"].items():
            self.optimizers[part].load_state_dict(optimizer)
