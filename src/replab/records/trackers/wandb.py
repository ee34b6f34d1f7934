"""Weights & Biases: one line per epoch to the project "replab"; WANDB_MODE=offline keeps it on this disk"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replab.records.events import Event
from replab.records.trackers.base import epoch_of, flat, tracker


@tracker(package="wandb")
class Wandb:
    def __init__(self, folder: Path, recipe: dict[str, Any]):
        import wandb

        known = {"name": folder.name, "id": folder.name, "dir": str(folder), "config": flat(recipe)}
        self.run = wandb.init(project="replab", resume="allow", **known)

    def hear(self, event: Event) -> None:
        if (row := epoch_of(event)) is not None:
            self.run.log(row[1], step=row[0])

    def end(self, metrics: Mapping[str, float] | None) -> None:
        if metrics is not None:
            self.run.summary.update({f"final_{name}": value for name, value in metrics.items()})
        self.run.finish()
