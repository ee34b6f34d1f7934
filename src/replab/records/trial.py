"""What is known of one trial of a search, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Trial:
    """A finished trial. `value` is its lowest validation objective, reached at `best_epoch`."""

    number: int
    params: dict[str, Any]
    state: str  # complete, pruned or failed
    value: float | None = None
    best_epoch: int = 0
    error: float = 0.0  # standard error of the value, over the validation images
    losses: list[float] = field(default_factory=list)  # validation objective, one per epoch
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Not asdict(), which copies each value deeply: a search writes all its trials after each of them."""
        return {**vars(self), "params": dict(self.params), "losses": list(self.losses)}
