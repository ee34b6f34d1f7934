"""TensorBoard: scalars per epoch and the hyperparameters, in tensorboard/ of the run folder"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replab.records.events import Event
from replab.records.trackers.base import epoch_of, flat, tracker


@tracker(package="tensorboard", install="'replab[trackers]'")
class Tensorboard:
    def __init__(self, folder: Path, recipe: dict[str, Any]):
        from torch.utils.tensorboard import SummaryWriter

        self.writer, self.recipe = SummaryWriter(str(folder / "tensorboard")), recipe

    def hear(self, event: Event) -> None:
        if event.kind == "trial" and event.facts["value"] is not None:
            self.writer.add_scalar("search/validation loss", event.facts["value"], event.facts["number"] + 1)
        if (row := epoch_of(event)) is not None:
            for name, value in row[1].items():
                split, _, rest = name.partition("_")  # train_loss stands below train
                self.writer.add_scalar(f"{split}/{rest}" if rest else name, value, row[0])
            self.writer.flush()  # a run that is killed leaves its curves

    def end(self, metrics: Mapping[str, float] | None) -> None:
        if metrics is not None:
            known = {k: v if isinstance(v, (bool, int, float, str)) else str(v) for k, v in flat(self.recipe).items()}
            final = {f"final/{name}": value for name, value in metrics.items()}
            self.writer.add_hparams(known, final, run_name=".")
        self.writer.close()
