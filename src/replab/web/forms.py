"""The form that starts a run, made from the settings' declarations, and what it means on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from replab import preflight
from replab.data.source import source
from replab.errors import RecipeError
from replab.models.registry import MODELS
from replab.settings import choices as choosing
from replab.settings.recipe import Recipe, usual_settings
from replab.settings.setting import GROUPS, Setting
from replab.settings.values import SWITCH, TEXT

FIRST = ("data", "lr", "epochs", "seed", "batch_size", "limit", "search.trials")  # shown at once; the rest on demand
LONGEST = 2000  # characters of a field


def groups() -> list[tuple[str, list[dict[str, Any]]]]:
    """(title, fields) of every setting; what most runs are told comes first."""
    declared = [s for s in usual_settings() if s.flag.startswith("-")]
    common = sorted((s for s in declared if s.key in FIRST), key=lambda s: FIRST.index(s.key))
    panels = [("Most used", common)]
    panels += [(group, [s for s in declared if s.group == group and s.key not in FIRST]) for group in GROUPS]
    return [(title, [field(s) for s in settings]) for title, settings in panels if settings]


def models() -> list[tuple[str, str]]:
    return [(name, MODELS.describe(name)) for name in MODELS.names()]


def field(s: Setting) -> dict[str, Any]:
    """One setting as an input: its label, help, default and choices as --help has them."""
    kind = "switch" if s.type is SWITCH else "choice" if s.choices and s.type is TEXT else "text"
    options = list(choosing.names(s.choices)) if s.choices else source.names() if s.key == "data" else []
    return {
        "key": s.key,
        "label": s.label,
        "flag": s.flag,
        "help": s.full_help,
        "kind": kind,
        "default": s.default_text if kind != "switch" else bool(s.default),
        "options": options,
    }


def wanted(form: Any, runs: str) -> tuple[Recipe, list[str]]:
    """The recipe that a form asks for, checked as the command line checks it, and the words that say it there."""
    if not isinstance(form, Mapping) or not all(isinstance(value, str) for value in form.values()):
        raise RecipeError("a form is names and texts")
    model = form.get("model", "")
    MODELS.check(model)  # registered ones alone: a page imports no file that it is told of
    words, values = [model], dict[str, Any]()
    for s in usual_settings():
        text = form.get(s.key, "").strip()
        if not text or not s.flag.startswith("-") or text == (s.default_text if s.type is not SWITCH else ""):
            continue
        if len(text) > LONGEST:
            raise RecipeError(f"{s.key} is longer than {LONGEST:,} characters")
        value = s.parse(text == "yes" if s.type is SWITCH else split(text, s.key) if s.type.repeats else text)
        if value == s.default:
            continue
        said = s.words(value)
        if said is None:
            raise RecipeError(f"{s.key} cannot be said on the command line, got {text!r}; use a recipe file")
        words += said
        (values.setdefault("search", {}) if s.key.startswith("search.") else values)[s.name] = value
    return preflight.requested(model, runs=runs, **values), words


def split(text: str, key: str) -> list[str]:
    """Words as a shell takes them."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise RecipeError(f"{key} is not words as in a shell ({error}), got {text!r}") from None


def command(words: list[str]) -> str:
    """The same in a terminal."""
    return shlex.join(["replab", "run", *words])
