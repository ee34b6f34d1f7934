"""The types a setting may have: how a value is read from TOML or Python, and from and to the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replab.errors import RecipeError
from replab.settings.text import parse_seconds, parse_settings, write_seconds, write_value

LARGEST = 2**63 - 1  # of whole numbers


@dataclass(frozen=True)
class ValueType:
    """`read` takes a value of TOML, JSON or Python, `parse` the words of the command line; both raise ValueError.

    `write` gives the words that `parse` takes: one per time that the flag is repeated.
    """

    name: str  # "a whole number": completes "must be ..."
    metavar: str  # stands for the value in --help
    read: Callable[[Any], Any]
    parse: Callable[[Sequence[str]], Any]
    write: Callable[[Any], list[str]]
    repeats: bool = False  # the flag may be given several times


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise ValueError
    return value


def _number(value: Any) -> float:
    """TOML and JSON write 1 for 1.0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError
    if isinstance(value, int) and abs(value) > LARGEST:  # float() of a larger one may overflow
        raise ValueError
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _words(value: Any) -> tuple[str, ...]:
    """A list in TOML, which has no tuples; `flip,crop=4` in Python and on the command line."""
    values = value.split(",") if isinstance(value, str) else value
    if not isinstance(values, (list, tuple)) or not all(isinstance(word, str) for word in values):
        raise ValueError
    return tuple(word for word in values if word)


def _range(value: Any) -> tuple[float, float]:
    if not isinstance(value, (list, tuple)):
        raise ValueError
    low, high = map(_number, value)
    return low, high


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError
    for name, inner in value.items():
        _refuse_unwritable(inner, name)
    return dict(value)


def _refuse_unwritable(value: Any, key: str) -> None:
    """What TOML cannot express could not be read back."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            _refuse_unwritable(inner, f"{key}.{name}")
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _refuse_unwritable(inner, key)
    elif not isinstance(value, (bool, int, float, str)):
        raise Unwritable(key, value)


class Unwritable(ValueError):
    """A value inside a table that TOML cannot express."""

    def __init__(self, key: str, value: Any):
        super().__init__(key, value)
        self.key, self.value = key, value


WHOLE = ValueType("a whole number", "N", _whole, lambda words: int(words[-1]), lambda value: [str(value)])
NUMBER = ValueType("a number", "NUMBER", _number, lambda words: float(words[-1]), lambda value: [repr(value)])
TEXT = ValueType("text", "TEXT", _text, lambda words: words[-1], lambda value: [value])
SWITCH = ValueType("true or false", "", _switch, lambda words: bool(words[-1]), lambda value: [])
WORDS = ValueType("a list of words", "A,B", _words, lambda words: _words(words[-1]), lambda value: [",".join(value)])
RANGE = ValueType(
    "two numbers, low and high", "LOW,HIGH", _range,
    lambda words: _range([float(word) for word in words[-1].split(",")]),
    lambda value: [",".join(map(repr, value))],
)  # fmt: skip
TABLE = ValueType(
    "a table", "KEY=VALUE", _table, parse_settings,
    lambda value: [f"{key}={write_value(inner)}" for key, inner in value.items()], repeats=True,
)  # fmt: skip
TIME = ValueType(  # a number whose unit is seconds
    "a number of seconds", "TIME", _number, lambda words: parse_seconds(words[-1]), lambda value: [write_seconds(value)]
)

OF_ANNOTATION: dict[Any, ValueType] = {
    int: WHOLE,
    float: NUMBER,
    str: TEXT,
    bool: SWITCH,
    tuple[str, ...]: WORDS,
    tuple[float, float]: RANGE,
    Mapping[str, Any]: TABLE,
}


def read(value_type: ValueType, value: Any, key: str) -> Any:
    """The value, or a RecipeError that names the key."""
    try:
        return value_type.read(value)
    except Unwritable as error:
        rule = f"{key}.{error.key} must be a number, text, true, false or a list of them"
        raise RecipeError(f"{rule}, got {error.value!r}; leave it out") from None
    except ValueError:
        raise RecipeError(f"{key} must be {value_type.name}, got {value!r}") from None
