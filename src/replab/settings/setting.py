"""One setting, declared once, beside its field. Flags, TOML keys, rules, help and report lines follow from it."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, get_args, get_type_hints

from replab.errors import RecipeError
from replab.settings import choices as choosing
from replab.settings.choices import Choices
from replab.settings.own_parts import is_own, split
from replab.settings.text import parse_settings
from replab.settings.values import OF_ANNOTATION, SWITCH, TABLE, TEXT, TIME, WHOLE, ValueType, read

MODEL, DATA, TRAINING, SEARCH = "Model", "Data", "Training", "Search"
FINE_TUNING, MACHINE = "Fine-tuning", "Seed, machine and time"
GROUPS = (DATA, TRAINING, SEARCH, MODEL, FINE_TUNING, MACHINE)  # the panels of --help, in order


@dataclass(frozen=True)
class Setting:
    """What is known of a setting. The name, type and default come from the field it is declared at."""

    help: str
    group: str  # its panel in --help
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    choices: Choices = ()
    own: bool = False  # FILE.py:FUNCTION is allowed too, in Python the function itself
    pattern: str = ""  # a regular expression for the whole text,
    form: str = ""  # and the same for people: completes "must be ..."
    unit: str = ""
    way_out: str = ""  # what to do about a refused value; by default, the default
    label: str = ""  # in reports
    flag: str = ""  # --like-this; `positional` for the model
    short: str = ""  # -d
    searchable: bool = False  # --search may vary it
    name: str = ""
    key: str = ""  # with its table: search.trials
    default: Any = None
    optional: bool = False  # None is allowed: left open
    type: ValueType = SWITCH

    def read(self, value: Any) -> Any:
        """A value of TOML, JSON or Python brought to this setting's type, within its bounds and choices."""
        if value is None and self.optional:
            return None
        value = read(self.type, value, self.key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self._refuse(self._within(value), f"must be {self.bounds}", value)
        if self.pattern:
            self._refuse(re.fullmatch(self.pattern, value) is not None, f"must be {self.form}", value)
        for name in (value if isinstance(value, tuple) else (value,)) if self.choices else ():
            self._choose(name)
        return value

    def parse(self, words: Any) -> Any:
        """A value of the command line: the words given to the flag, or True and False for a switch."""
        if self.type is SWITCH:
            return bool(words)
        words = [words] if isinstance(words, str) else words
        if self.type is TABLE:
            return self.read(parse_settings(words, self.flag))
        try:
            return self.read(self.type.parse(words))
        except ValueError:
            raise RecipeError(f"{self.key} must be {self.type.name}, got {words[-1]!r}; {self.advice}") from None

    def words(self, value: Any) -> list[str] | None:
        """The words of the command line that give this value, or None if they cannot."""
        if self.type is SWITCH:
            return [self.flag if value else self.no_flag]
        texts = self.type.write(value)
        try:
            if self.parse(texts) != value:
                return None
        except RecipeError:
            return None
        return [word for text in texts for word in ([f"{self.flag}={text}"] if text[:1] == "-" else [self.flag, text])]

    @property
    def no_flag(self) -> str:
        return f"--no-{self.flag.removeprefix('--')}"

    @property
    def bounds(self) -> str:
        """`above 0 and at most 1`; completes "must be ..."."""

        def number(bound: float) -> str:
            unit = self.unit.removesuffix("s") if bound == 1 else self.unit
            return f"{bound:,} {unit}".rstrip()

        if self.at_least is not None and self.at_most is not None:
            return f"from {self.at_least} to {number(self.at_most)}"
        if self.at_least is not None and self.below is not None:
            return f"from {self.at_least} to below {number(self.below)}"
        pairs = (("at least", self.at_least), ("above", self.above), ("at most", self.at_most), ("below", self.below))
        return " and ".join(f"{word} {number(bound)}" for word, bound in pairs if bound is not None) or "finite"

    @property
    def advice(self) -> str:
        """The way out of a refused value."""
        return self.way_out or (f"the default is {self.default_text}" if self.default_text else "leave it out")

    @property
    def default_text(self) -> str:
        """Empty for settings that are left out, or off, by default."""
        absent = self.default is None or self.default is False or self.default in ("", (), {})
        return "" if absent else self.text(self.default)

    @property
    def full_help(self) -> str:
        """The help text with choices and default."""
        text = f"{self.help}: {self.form}" if self.form else self.help
        facts = [", ".join(choosing.names(self.choices))] if self.choices else []
        facts = [f"{facts[0]}, or FILE.py:FUNCTION"] if self.own else facts
        facts += [f"default: {self.default_text}"] if self.default_text else []
        return f"{text} ({'; '.join(facts)})" if facts else text

    @property
    def metavar(self) -> str:
        """What stands for the value in --help."""
        return "NAME" if self.choices and self.type is TEXT else self.type.metavar

    def text(self, value: Any) -> str:
        """A value for people: in help, refusals and reports."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float) and self.type is not TIME:
            return f"{value:.4g}"
        if isinstance(value, tuple) and all(isinstance(v, float) for v in value):
            return " to ".join(f"{v:.4g}" for v in value)
        text = " ".join(self.type.write(value))
        return f"{text} {self.unit}" if self.unit and self.type is WHOLE else text

    def _within(self, value: float) -> bool:
        return (
            math.isfinite(value)
            and (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    def _choose(self, word: str) -> None:
        """`crop=4` is the choice `crop`."""
        known, (name, _) = choosing.names(self.choices), split(word)
        if name not in known and not (self.own and is_own(name)):
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
            advice = f"did you mean {near[0]!r}?" if near else self.advice
            listed = ", ".join(known) + (" or FILE.py:FUNCTION" if self.own else "")
            raise RecipeError(f"{self.key} must be one of {listed}, got {name!r}; {advice}")

    def _refuse(self, passes: bool, rule: str, value: Any) -> None:
        if not passes:
            raise RecipeError(f"{self.key} {rule}, got {value!r}; {self.advice}")


def setting(default: Any, help: str, group: str, **more: Any) -> Any:
    """The default of a dataclass field that is a setting. A callable makes the default: dict for an empty table."""
    declared = {"setting": Setting(help, group, **more)}
    if callable(default):
        return field(default_factory=default, metadata=declared)
    return field(default=default, metadata=declared)


@cache
def settings_of(cls: Any, table: str = "") -> dict[str, Setting]:
    """The settings declared in a dataclass, by field name. `table` is its name in TOML."""
    hints = get_type_hints(cls)
    return {f.name: _complete(f, hints[f.name], table) for f in dataclasses.fields(cls) if "setting" in f.metadata}


def _complete(f: dataclasses.Field[Any], hint: Any, table: str) -> Setting:
    """The declaration with what the field itself says."""
    declared: Setting = f.metadata["setting"]
    optional = isinstance(hint, types.UnionType)
    inner = next(arg for arg in get_args(hint) if arg is not type(None)) if optional else hint
    key = f"{table}.{f.name}" if table else f.name
    return dataclasses.replace(
        declared,
        name=f.name,
        key=key,
        default=f.default if f.default_factory is dataclasses.MISSING else f.default_factory(),
        optional=optional,
        type=TIME if declared.unit == "seconds" else OF_ANNOTATION[inner],
        flag=declared.flag or "--" + f.name.replace("_", "-"),
        label=declared.label or key.replace(".", " ").replace("_", " "),
    )


def read_fields(instance: Any, settings: Mapping[str, Setting]) -> None:
    """Bring every field to its setting's type; refuse what is out of bounds. A default is in order as it is."""
    for name, declared in settings.items():
        value, default = getattr(instance, name), declared.default
        if value is not default and (type(value) is not type(default) or value != default or isinstance(value, dict)):
            object.__setattr__(instance, name, declared.read(value))
