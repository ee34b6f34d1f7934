"""Averaged weights: what a training shows and keeps is an average over its steps instead of the last step.

`ema`: an average beside the training, which never feels it (Polyak and Ruppert; as in 1703.01780). `lookahead`: every
few steps the weights go back to their average (1907.08610), the decay rising with the cube of the progress, as
airbench94 does it (2404.00498). Buffers that are not whole numbers (BatchNorm's statistics) are averaged too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DECAYS = {"ema": 0.999, "lookahead": 0.95}  # per step, where none is given
EVERY = 5  # steps from one look ahead to the next


class Average:
    """`slow`: name → averaged tensor. While the model has the average (`shown`), `slow` has what is trained."""

    def __init__(self, model: Any, kind: str, decay: float | None = None):
        self.model, self.kind = model, kind
        self.decay = DECAYS[kind] if decay is None else decay
        self.slow = {name: value.clone() for name, value in self._fast().items()}
        self.shown = False

    def _fast(self) -> dict[str, Any]:
        return {name: value for name, value in self.model.state_dict().items() if value.is_floating_point()}

    def update(self, step: int, total: int) -> None:
        """After step number `step` (from 0) of `total`."""
        done = step + 1
        if self.kind == "ema":
            # the first steps are forgotten sooner: an average over at most a tenth more than has been
            self._towards(min(self.decay, done / (done + 9)))
        elif done % EVERY == 0:
            self._towards(self.decay**EVERY * (done / total) ** 3)
            self._back()

    def _towards(self, keep: float) -> None:
        for name, value in self._fast().items():
            self.slow[name].lerp_(value, 1 - keep)

    def _back(self) -> None:
        for name, value in self._fast().items():
            value.copy_(self.slow[name])

    def show(self) -> None:
        """Give the model its average, to be evaluated and kept."""
        if self.kind == "lookahead":
            self._back()
        elif not self.shown:
            self._swap()

    def hide(self) -> None:
        """Go on with the training."""
        if self.shown:
            self._swap()

    def _swap(self) -> None:
        for name, value in self._fast().items():
            kept = value.clone()
            value.copy_(self.slow[name])
            self.slow[name].copy_(kept)
        self.shown = not self.shown

    def trained(self) -> dict[str, Any]:
        """The state of the model as it is trained."""
        return {**self.model.state_dict(), **(self.slow if self.shown else {})}

    def values(self) -> dict[str, Any]:
        return self._fast() if self.shown else self.slow

    def restore(self, values: Mapping[str, Any]) -> None:
        """After the model's own weights."""
        self.shown = False
        for name, value in values.items():
            self.slow[name].copy_(value)
