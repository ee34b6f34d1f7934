"""Signatures with real keywords: help() and completion show a recipe's settings instead of **settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from replab.settings.recipe import Recipe
from replab.settings.setting import settings_of

OPEN = inspect.Parameter.VAR_KEYWORD


def show_keywords(function: Callable[..., Any], *takes: Callable[..., Any]) -> None:
    """Give a function with `**settings` the signature it means: its own, then those of the functions it hands
    keywords on to, then every setting of a Recipe, with its type and default."""
    own = [p for p in inspect.signature(function).parameters.values() if p.kind is not OPEN]
    handed = [p for other in takes for p in inspect.signature(other).parameters.values()]
    declared = settings_of(Recipe)
    settings = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_plain(declared[field.name].default) if field.name in declared else None,
            annotation=field.type if field.name in declared else "Mapping[str, Any] | None",
        )
        for field in fields(Recipe)
    ]
    known = {p.name: p for p in own}
    if "models" in known:
        known["model"] = known["models"]  # compare() names its models at once
    for parameter in (*handed, *settings):
        if parameter.name not in known and parameter.kind is not OPEN:
            known[parameter.name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    chosen = [parameter for name, parameter in known.items() if parameter.name == name]
    function.__signature__ = inspect.signature(function).replace(parameters=chosen)  # type: ignore[attr-defined]


def _plain(default: Any) -> Any:
    return dict(default) if isinstance(default, Mapping) else default
