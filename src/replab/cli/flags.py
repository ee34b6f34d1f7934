"""A flag per declared setting, for every command that takes settings: built from the declarations, in panels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

import typer

from replab.cli.names import datasets, of_choices
from replab.settings.recipe import all_settings, usual_settings
from replab.settings.setting import GROUPS, Setting
from replab.settings.values import SWITCH

PREFIX = "setting_"


def with_settings(without: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the flags to a command with a parameter `settings`: those that were given, by the keys of a recipe.

    `without` names the settings that this command decides itself.
    """
    declared = [s for s in usual_settings() if s.flag.startswith("-") and s.key not in without]
    declared.sort(key=lambda s: GROUPS.index(s.group))

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def called(**values: Any) -> None:
            own = {name: value for name, value in values.items() if not name.startswith(PREFIX)}
            command(**own, settings=recipe_keys(values))

        own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "settings"]
        parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in own] + [flag(s) for s in declared]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        called.__name__, called.__doc__ = command.__name__, command.__doc__
        return called

    return decorate


def flag(s: Setting) -> inspect.Parameter:
    """The setting as a parameter that Typer makes an option of. Its text is read by the setting itself."""
    words = [f"{s.flag}/{s.no_flag}"] if s.type is SWITCH else [s.flag]
    option = typer.Option(
        *words,
        *([s.short] if s.short else []),
        help=s.full_help,
        metavar=s.metavar or " ",
        rich_help_panel=s.group,
        autocompletion=datasets if s.key == "data" else of_choices(s.choices) if s.choices else None,
    )
    kind: Any = bool if s.type is SWITCH else list[str] if s.type.repeats else str
    return inspect.Parameter(
        parameter_name(s), inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def parameter_name(s: Setting) -> str:
    """Unlike the names of a command's own parameters: `search.lr` → `setting_search_lr`."""
    return PREFIX + s.key.replace(".", "_")


def recipe_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """The words given to the flags, by parameter name → values, by the keys of Recipe.replace."""
    settings: dict[str, Any] = {}
    for s in all_settings():
        words = values.get(parameter_name(s))
        if words is not None and not (s.type.repeats and not words):
            table = settings.setdefault("search", {}) if s.key.startswith("search.") else settings
            table[s.name] = s.parse(words)
    return settings
