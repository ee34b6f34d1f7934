"""One line per epoch in metrics.csv of the run folder, for spreadsheets and scripts"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from replab.records.events import Event
from replab.records.trackers.base import tracker


@tracker
class Csv:
    def __init__(self, folder: Path, recipe: dict[str, Any]):
        self.path = folder / "metrics.csv"

    def hear(self, event: Event) -> None:
        if event.kind != "epoch" or "trial" in event.facts:
            return
        row = event.facts["row"]
        known = self._columns() or list(row)
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, known, extrasaction="ignore", restval="")
            if not file.tell():
                writer.writeheader()
            writer.writerow(row)

    def _columns(self) -> list[str]:
        """Of the file as it is: a resumed run goes on in it."""
        if not self.path.is_file():
            return []
        with open(self.path, newline="", encoding="utf-8") as file:
            return next(csv.reader(file), [])
