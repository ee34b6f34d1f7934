"""MLflow: parameters and metrics in the experiment "replab" of $MLFLOW_TRACKING_URI, or of mlflow.db in this folder"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replab.records.events import Event
from replab.records.trackers.base import epoch_of, flat, tracker

EXPERIMENT = "replab"
RUN_TAG = "replab.run"  # a resumed run goes on in the same MLflow run
LONGEST = 500  # characters of a parameter that MLflow takes


@tracker(package="mlflow", install="'replab[trackers]'")
class Mlflow:
    def __init__(self, folder: Path, recipe: dict[str, Any]):
        from mlflow import MlflowClient
        from mlflow.entities import Param

        logging.getLogger("mlflow").setLevel(logging.WARNING)  # it tells of every table it makes
        self.client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or "sqlite:///mlflow.db")
        known = self.client.get_experiment_by_name(EXPERIMENT)
        experiment = known.experiment_id if known else self.client.create_experiment(EXPERIMENT)
        begun = self.client.search_runs([experiment], f"tags.`{RUN_TAG}` = '{folder.name}'", max_results=1)
        if begun:
            self.run = begun[0].info.run_id
            self.client.update_run(self.run, status="RUNNING")
            return
        tags = {RUN_TAG: folder.name, "replab.folder": str(folder.resolve())}
        self.run = self.client.create_run(experiment, tags=tags, run_name=folder.name).info.run_id
        params = [Param(key, str(value)[:LONGEST]) for key, value in flat(recipe).items()]
        self.client.log_batch(self.run, params=params)

    def hear(self, event: Event) -> None:
        if event.kind == "trial" and event.facts["value"] is not None:
            self._log({"search_validation_loss": event.facts["value"]}, event.facts["number"] + 1)
        if (row := epoch_of(event)) is not None:
            self._log(row[1], row[0])

    def end(self, metrics: Mapping[str, float] | None) -> None:
        if metrics is not None:
            self._log({f"final_{name}": value for name, value in metrics.items()}, 0)
        self.client.set_terminated(self.run, "KILLED" if metrics is None else "FINISHED")

    def _log(self, numbers: Mapping[str, float], step: int) -> None:
        from time import time

        from mlflow.entities import Metric

        now = int(1000 * time())
        self.client.log_batch(self.run, metrics=[Metric(name, value, now, step) for name, value in numbers.items()])
