"""Settings as the command that repeats a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from replab.settings.setting import Setting


def command(model: str, settings: Iterable[tuple[Setting, Any]], file: Path) -> str:
    """`replab run MODEL` with a flag per setting, or `--recipe FILE` where a value cannot be written as a flag."""
    words = ["replab", "run", model]
    for declared, value in settings:
        flags = declared.words(value)
        if flags is None:
            return shlex.join(["replab", "run", "--recipe", str(file)])
        words += flags
    return shlex.join(words)
