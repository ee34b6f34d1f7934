"""How values are written on the command line: `channels=[16,32]`, `beta=0.1,1,10`, `1h30m`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from replab.errors import RecipeError

SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "": 1.0}


def parse_value(text: str) -> Any:
    """JSON where the text is JSON ([16,32], 0.5, true), otherwise the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def write_value(value: Any) -> str:
    """The text that parse_value reads as this value."""
    plain = isinstance(value, str) and parse_value(value) == value == value.strip()
    return value if plain else json.dumps(value)


def parse_settings(items: Sequence[str], flag: str = "--set") -> dict[str, Any]:
    """`key=value` words as a dict."""
    settings = {}
    for item in items:
        key, sign, value = item.partition("=")
        if not sign or not key.strip():
            raise RecipeError(f"{flag} takes KEY=VALUE, got {item!r}; for example {flag} channels=[16,32]")
        settings[key.strip()] = parse_value(value.strip())
    return settings


def parse_sweep(items: Sequence[str]) -> tuple[str, list[Any], dict[str, Any]]:
    """(key, its values, the other settings) of `beta=0.1,1,10 latent=16`: exactly one key has several values."""
    settings = parse_settings(items)
    several = {k: v.split(",") for k, v in settings.items() if isinstance(v, str) and "," in v}
    if len(several) != 1:
        raise RecipeError(
            f"sweep needs exactly one --set KEY=VALUE,VALUE, got {len(several)}; for example --set beta=0.1,1,10"
        )
    ((key, values),) = several.items()
    return key, [parse_value(v.strip()) for v in values], {k: v for k, v in settings.items() if k != key}


def parse_seconds(text: str) -> float:
    """Seconds of `90`, `90s`, `10m`, `1.5h`, `1h30m`."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([hms]?)", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != re.sub(r"\s", "", text.lower()):
        raise RecipeError(f"a time is written 90s, 10m or 1h30m, got {text!r}")
    return sum(float(number) * SECONDS[unit] for number, unit in parts)


def write_seconds(seconds: float) -> str:
    """The text that parse_seconds reads as this many seconds: 180 → 3m, 5400 → 1h30m, 0.5 → 0.5s."""
    whole = int(seconds)
    parts = ((whole // 3600, "h"), (whole // 60 % 60, "m"), (whole % 60, "s"))
    text = "".join(f"{number}{unit}" for number, unit in parts if number)
    if text and parse_seconds(text) == seconds:
        return text
    return f"{Decimal(repr(seconds)):f}s"  # 1e-07 has no place in a time: 0.0000001s
