"""A recipe as a TOML file: its format and older ones, and the line that a message is about."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from replab import files
from replab.errors import RecipeError
from replab.settings import choices

LARGEST = 2**20  # bytes
FORMAT = 3  # the first carries no number
BEFORE_BATCHES = {"batch": 1, "threads": 0}  # what formats 1 and 2, which have no such keys, mean by [search]


def read(path: str | Path) -> str:
    try:
        return files.read(path, LARGEST).decode()
    except (OSError, ValueError) as error:
        raise RecipeError(f"cannot read the recipe {path}: {getattr(error, 'strerror', None) or error}") from None


@contextlib.contextmanager
def valid_toml(where: str = "") -> Iterator[None]:
    """What TOML itself refuses is refused in one line; `where` names the file."""
    try:
        yield
    except RecursionError:
        raise RecipeError(f"{where or 'the recipe'} is not valid TOML: it is nested too deeply") from None
    except ValueError as error:  # TOML's own, and numbers of thousands of digits
        raise RecipeError(f"{where or 'the recipe'} is not valid TOML: {error}") from None


def loads(text: str) -> dict[str, Any]:
    """What tomllib.loads gives. Statements are parsed once per process: the recipes of a thousand runs share most."""
    try:
        return _by_statements(text)
    except ValueError:  # no plain list of statements and tables: the parser decides, and says what is wrong
        return tomllib.loads(text)


def _by_statements(text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    table, lines = values, iter(text.split("\n"))
    for line in lines:
        if line.startswith("["):
            name = line[1:-1]
            if not (line.endswith("]") and name.isidentifier()) or name in values:
                raise ValueError(line)
            table = values[name] = {}
        elif line.strip():
            if line.endswith("["):  # an array over several lines, as tomli_w writes them
                while not line.endswith("\n]"):
                    if (more := next(lines, None)) is None:
                        raise ValueError(line)
                    line += f"\n{more}"
            key, value = _statement(line)
            if key in table:
                raise ValueError(line)
            table[key] = list(value) if isinstance(value, list) else value
    return values


@lru_cache(maxsize=4096)
def _statement(text: str) -> tuple[str, Any]:
    """KEY = VALUE, of a value without parts that could be changed."""
    ((key, value),) = tomllib.loads(text).items()
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, (list, dict)) for one in value)):
        raise ValueError(text)
    return key, value


def dumps(values: Mapping[str, Any]) -> str:
    import tomli_w

    return tomli_w.dumps(_without_none_and_empty_tables({"format": FORMAT, **values}))


def as_of_today(values: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """(the settings of a file of any format, the protocol that decides what it leaves out, where it names one)."""
    settings = dict(values)
    version = settings.pop("format", 1)
    if not isinstance(version, int) or not 1 <= version <= FORMAT:
        raise RecipeError(f"format must be from 1 to {FORMAT}, got {version!r}; a newer replab may read this recipe")
    if version < 3 and isinstance(settings.get("search", {}), Mapping):
        settings["search"] = {**BEFORE_BATCHES, **settings.get("search", {})}
    if settings.get("metric") in choices.DISTANCES:  # its name before it was --distance
        settings["distance"] = settings.pop("metric")
    named = settings.get("protocol") if version == 1 else None  # written by hand: the rest is the protocol's
    return settings, named if named in choices.PROTOCOLS else ""


def line_of(text: str, message: str, flags: Mapping[str, str]) -> str:
    """`, line N`: where the TOML text has the key that a message is about; empty where it has none.

    `flags`: their keys, as messages name flags.
    """
    places, table = dict[str, int](), ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[([\w.]+)\]", line):
            table = f"{header[1]}."
            places.setdefault(header[1], number)
        elif key := re.match(r"\s*[\"']?([\w.-]+)[\"']?\s*=", line):
            places.setdefault(table + key[1], number)
    words = [flags.get(word, word) for word in re.findall(r"--[\w-]+|[\w.]+", message)]
    return next((f", line {places[word]}" for word in words if word in places), "")


def _without_none_and_empty_tables(values: Mapping[str, Any]) -> dict[str, Any]:
    inner = {k: _without_none_and_empty_tables(v) if k == "search" else v for k, v in values.items()}
    return {k: v for k, v in inner.items() if v is not None and v != {}}
