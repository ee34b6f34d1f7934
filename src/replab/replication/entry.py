"""One measured seed of a published row: a line of results/rows.jsonl."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from replab.settings.recipe import Recipe

FIXED, SEARCH = "published settings", "whole search"
NUMERICS = 1  # raised by a change that moves a number of an unchanged recipe (make same says so)
SAME_NUMERICS = ("b9f5d4853a9b",)  # commits from before rows kept the version, whose numbers are those of version 1


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
    stopped_of: int | None = None  # the schedule's epochs, where the run was stopped before its end
    fingerprint: str = ""  # of the images; "": measured before it was kept
    numerics: int | None = None  # NUMERICS of the code; None: measured before it was kept
    curve: Mapping[str, Sequence[float]] | None = None  # column of epochs.jsonl → one value per epoch
    flops: float | None = None  # of the training, about: 6 · MACs · images · epochs
    right: str | None = None  # packed(): which test images were answered right, in their order

    @property
    def images(self) -> str:
        """The data set and how it differs from the row's: for a verdict, resized or fewer images are other data."""
        name = self.data if self.size is None else f"{self.data} at {self.size}x{self.size}"
        return name if self.limit is None else f"{self.limit:,} images of {name}"

    @property
    def identity(self) -> str:
        """Of the measurement: the recipe, the images and the version of the numerics."""
        parts = (self.recipe, self.fingerprint, str(self.numerics))
        return sha256("/".join(parts).encode()).hexdigest()[:16]

    @property
    def stale(self) -> str:
        """Why today's code may give another number; "" where it should give the same."""
        if self.commit.endswith("-dirty"):
            return "measured with uncommitted changes"
        if self.numerics != NUMERICS and self.commit not in SAME_NUMERICS:
            return "measured by older numerics"
        return ""

    def recipe_of(self, published: Recipe, search: Recipe | None = None) -> Recipe:
        """The recipe it was measured with, from that of its row."""
        recipe = search if search is not None else published.replace(epochs=self.epochs)
        if self.stopped_of is not None:
            recipe = published.replace(epochs=self.stopped_of, stop_after=self.epochs)
        return recipe.replace(seed=self.seed, data=self.data, size=self.size or recipe.size, limit=self.limit)


def packed(right: np.ndarray) -> str:
    """One bit per test image as short text: its number, and the bits."""
    bits = zlib.compress(np.packbits(right).tobytes(), 9)
    return f"{len(right)}:{base64.b64encode(bits).decode()}"


def unpacked(text: str) -> np.ndarray:
    """Bools, one per test image, as packed() was given them."""
    count, _, bits = text.partition(":")
    raw = zlib.decompressobj().decompress(base64.b64decode(bits), max_length=-(-int(count) // 8) + 1)
    return np.unpackbits(np.frombuffer(raw, np.uint8), count=int(count)).astype(bool)


def identity(recipe: Recipe) -> str:
    """Of what was asked for: the same for the same run, whatever the device and the folder of the data.

    Settings count where they differ from the defaults of format 1, so that a new default changes no identity.
    """
    default, values = dataclasses.asdict(Recipe.from_dict({})), dataclasses.asdict(recipe)
    values["search"] = {k: v for k, v in values["search"].items() if v != default["search"][k]}
    deciding = {k: v for k, v in values.items() if k not in ("device", "protocol") and v != default[k] and v != {}}
    deciding["data"] = Path(recipe.data).name.removesuffix(".zip")  # the name of its Dataset
    return sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:16]
