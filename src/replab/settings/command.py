"""A recipe as the command that repeats its run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replab.settings.setting import Setting


def command(recipe: Any, changed: Sequence[tuple[Setting, Any]], declared: Mapping[str, Setting], file: Path) -> str:
    """`replab run MODEL` with a flag per setting that differs from its protocol's.

    `--recipe FILE` where a value cannot be written as a flag.
    """
    settings = [(declared["protocol"], recipe.protocol), *(pair for pair in changed if pair[0].name != "model")]
    by_rule = recipe.epochs_at_10k is not None and recipe.budget is None  # else epochs are as a cost was measured
    derived = "epochs" if by_rule else "epochs_at_10k" if recipe.epochs else ""
    settings = [pair for pair in settings if pair[0].key != derived]
    if recipe.lr is not None and recipe.epochs is not None and not recipe.search.space:  # nothing to ask in batches
        settings = [pair for pair in settings if pair[0].key not in ("search.batch", "search.threads")]
    if recipe.pretrained and recipe.normalise == "dataset":  # --pretrained alone means --normalise backbone
        settings.append((declared["normalise"], recipe.normalise))
    words = ["replab", "run", recipe.model]
    for setting, value in settings:
        flags = setting.words(value)
        if flags is None:
            return shlex.join(["replab", "run", "--recipe", str(file)])
        words += flags
    return shlex.join(words)
