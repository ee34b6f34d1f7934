"""One measured seed of a published row: a line of results/rows.jsonl."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from replab.settings.recipe import Recipe

FIXED, SEARCH = "published settings", "whole search"


@dataclass(frozen=True)
class Entry:
    """One finished seed of one row."""

    id: str
    way: str  # FIXED or SEARCH
    seed: int
    values: Mapping[str, Sequence[float | None]]  # measure → [value, standard error within the run]
    data: str  # the variant it was measured on
    epochs: int
    lr: float
    minutes: float
    hardware: str
    commit: str
    command: str
    recipe: str  # identity(): what it was measured with
    size: int | None = None  # where the images had another size than the row's
    limit: int | None = None  # where only this many of them were used

    @property
    def images(self) -> str:
        """The data set and how it differs from the row's: for a verdict, resized or fewer images are other data."""
        name = self.data if self.size is None else f"{self.data} at {self.size}x{self.size}"
        return name if self.limit is None else f"{self.limit:,} images of {name}"


def identity(recipe: Recipe) -> str:
    """The same for the same run, whatever the device and the folder of the data.

    Settings count where they differ from the defaults of format 1, so that a new default changes no identity.
    """
    default, values = dataclasses.asdict(Recipe.from_dict({})), dataclasses.asdict(recipe)
    values["search"] = {k: v for k, v in values["search"].items() if v != default["search"][k]}
    deciding = {k: v for k, v in values.items() if k != "device" and v != default[k] and v != {}}
    deciding["data"] = Path(recipe.data).name.removesuffix(".zip")  # the name of its Dataset
    return sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:16]
