"""Search: how what a recipe leaves open is searched for; the [search] table of a recipe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replab.errors import RecipeError
from replab.settings import choices
from replab.settings.setting import SEARCH, read_fields, setting, settings_of


@dataclass(frozen=True)
class Search:
    """How hyperparameters are searched for. The defaults are those of the notes, with pruning and a TPE sampler."""

    trials: int = setting(20, "trials of the search", SEARCH, at_least=1, flag="--trials")
    method: str = setting(
        "tpe", "tpe: full trials one after another; halving: short ones of which the better half goes on; range-test:"
        " no trials, the rate at which the loss falls fastest", SEARCH, choices=choices.METHODS, flag="--search-method",
    )  # fmt: skip
    rungs: int = setting(3, "rounds of halving, each twice as long", SEARCH, at_least=1, at_most=10, unit="rounds")
    longest: float = setting(
        0.2, "length of halving's last round, as a share of the training's epochs", SEARCH, above=0, at_most=1
    )
    max_epochs: int = setting(50, "longest training of a trial", SEARCH, at_least=1, unit="epochs")
    patience: int = setting(
        5, "a trial stops after this many epochs without a better validation loss", SEARCH, at_least=1, unit="epochs"
    )
    fraction: float = setting(
        0.2, "share of the training images to search on, validation included", SEARCH, above=0, at_most=1
    )
    validation: float = setting(0.2, "share of those to validate on", SEARCH, above=0, below=1)
    min_validation: int = setting(
        300, "on small data sets, both shares grow until there are this many validation images", SEARCH,
        at_least=1, unit="images",
    )  # fmt: skip
    prune: bool = setting(True, "stop trials early that fall behind the others", SEARCH)
    choose: str = setting(
        "one-standard-error", "which trial wins: a small learning rate within one standard error of the best, or best",
        SEARCH, choices=choices.CHOOSE, way_out="best is the protocol of the notes",
    )  # fmt: skip
    lr: tuple[float, float] = setting(
        (math.exp(-10), math.exp(-4)), "range of learning rates, on a logarithmic scale", SEARCH, flag="--lr-range"
    )
    space: Mapping[str, Any] = setting(
        dict, "search another setting or model parameter too: weight_decay=[1e-5,1e-2]", SEARCH, flag="--search"
    )
    batch: int = setting(
        4, "trials open at once, which workers may run side by side; the number of workers changes no result", SEARCH,
        at_least=1, unit="trials", flag="--search-batch", way_out="1 asks for each trial after the one before",
    )  # fmt: skip
    threads: int = setting(
        1, "threads of each trial, because another number rounds otherwise; 0: as many as the machine gives", SEARCH,
        at_least=0, at_most=1024, flag="--search-threads",
    )  # fmt: skip

    def __post_init__(self) -> None:
        read_fields(self, settings_of(Search, "search"))
        low, high = self.lr
        if not 0 < low < high < math.inf:
            raise RecipeError(
                f"search.lr must be [low, high] with 0 < low < high, got {[low, high]}; the default is e^-10 to e^-4"
            )
