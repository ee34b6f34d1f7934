"""Parts that are the user's own: `FILE.py:FUNCTION`, or a function of a Python session (`python:NAME` in a recipe).

The settings that name them are declared with `own=True`. Nothing is imported here: backends/own_parts.py does that, and
models/trust.py says whether it may.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from replab.errors import ModelError

LIVE = "python:"
# what each is called with; docs/extend.md has the contracts
CALLED_WITH = {
    "loss": ("logits", "target"),
    "optimizer": ("params",),
    "schedule": ("step", "total", "lr"),
    "augment": ("x", "generator", "black"),
    "metric": ("logits", "labels"),
}


def is_file(name: str) -> bool:
    """Whether it names a file of the user's rather than something registered."""
    return ".py:" in name or name.endswith(".py")


def is_own(name: str) -> bool:
    return is_file(name) or name.startswith(LIVE)


def split(word: str) -> tuple[str, str]:
    """(name, arguments) of `crop=4` and of `mine.py:shade=0.5:2`; a folder may have = in its name."""
    after = word.rfind(".py:")
    name, _, arguments = word[after + 1 :].partition("=")
    return (word[: after + 1] + name).strip(), arguments


def own_parts(recipe: Any) -> dict[str, str]:
    """Name → setting of every part of a recipe, besides its model, that is the user's own."""
    found: dict[str, str] = {}
    for setting in CALLED_WITH:
        value = getattr(recipe, setting)
        for word in (value,) if isinstance(value, str) else value:
            name, _ = split(word)
            if is_own(name):
                found.setdefault(name, setting)
    return found


def without_own_parts(recipe: Any) -> Any:
    """The recipe with defaults in place of own parts: using a trained model needs none of them."""
    fields = type(recipe).__dataclass_fields__
    return recipe.replace(**{setting: fields[setting].default for setting in set(own_parts(recipe).values())})


def check(name: str, what: str = "model") -> None:
    """Refuse a file that does not exist and one that names no function, without importing anything."""
    if name.startswith(LIVE):
        return
    file, sign, function = name.rpartition(":")
    if not sign or not file or not function or name.endswith(".py"):
        raise ModelError(f"a {what} file is given as FILE.py:FUNCTION, got {name!r}; for example {name}:build")
    if not Path(file).is_file():
        raise ModelError(f"no {what} file {file}: looked in {Path(file).parent.resolve()}")


def kept_as(name: str) -> str:
    """The file of a run folder that has the text of a part: a name that the recipe alone decides."""
    from hashlib import sha256

    file = name.rpartition(":")[0] if is_file(name) else name
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", Path(file).stem if is_file(name) else name.removeprefix(LIVE))
    return f"part_file-{stem}-{sha256(file.encode()).hexdigest()[:8]}.txt"


def named(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Callable[..., Any]]]:
    """Settings with names where functions were given, and those functions by name."""
    live: dict[str, Callable[..., Any]] = {}

    def name(part: Any) -> Any:
        if not callable(part):
            return part
        if hasattr(part, "entry_name"):
            return part.entry_name
        base = text = LIVE + re.sub(r"\W+", "_", getattr(part, "__name__", type(part).__name__)).strip("_")
        while live.setdefault(text, part) is not part:  # another function of the same name
            text = f"{base}_{len(live)}"
        return text

    def names(given: Any) -> Any:
        return [name(part) for part in given] if isinstance(given, (list, tuple)) else name(given)

    plain = {key: names(given) if key in CALLED_WITH else given for key, given in settings.items()}
    for key in ("augment", "metric"):  # which may be several
        if isinstance(plain.get(key), str) and plain[key].startswith(LIVE):
            plain[key] = [plain[key]]
    return plain, live
