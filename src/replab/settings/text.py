"""How a recipe's values are written: on the command line, and in TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from replab.errors import RecipeError


def parse_value(text: str) -> Any:
    """A value from the command line: JSON where it is JSON ([16,32], 0.5, true), else the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def parse_settings(items: list[str]) -> dict[str, Any]:
    """`key=value` words as a dict."""
    settings = {}
    for item in items:
        key, sign, value = item.partition("=")
        if not sign or not key:
            raise RecipeError(f"--set takes key=value, got {item!r}; for example --set channels=[16,32]")
        settings[key.strip()] = parse_value(value.strip())
    return settings


def parse_sweep(items: list[str]) -> tuple[str, list[Any], dict[str, Any]]:
    """(key, its values, the other settings) of `beta=0.1,1,10 latent=16`: exactly one has several values."""
    settings = parse_settings(items)
    several = {k: v.split(",") for k, v in settings.items() if isinstance(v, str) and "," in v}
    if len(several) != 1:
        raise RecipeError(f"sweep takes one --set key=value,value and got {len(several)}; as in --set beta=0.1,1,10")
    ((key, values),) = several.items()
    return key, [parse_value(v.strip()) for v in values], {k: v for k, v in settings.items() if k != key}


def parse_seconds(text: str) -> float:
    """Seconds of `90`, `90s`, `10m`, `1.5h`, `1h30m`."""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "": 1.0}
    found = re.findall(r"(\d+(?:\.\d+)?)\s*([hms]?)", text.strip().lower())
    if not found or "".join(n + u for n, u in found) != re.sub(r"\s", "", text.lower()):
        raise RecipeError(f"a time is written 90s, 10m or 1h30m, got {text!r}")
    return sum(float(n) * units[u] for n, u in found)


def toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    if isinstance(value, float):
        return repr(value)
    # strings, ints and booleans are written alike in JSON and TOML, but for one character
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml(key)
