"""What a builder refuses about its parameters: each check names the rule, the value and the way out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from replab.data.images import ImageSpec
from replab.errors import ModelError


def whole(model: str, parameter: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ModelError(_refused(model, parameter, f"a whole number of at least {least}", value, least))
    return value


def wholes(model: str, parameter: str, values: Any, empty: bool = False) -> tuple[int, ...]:
    """A list (as the command line gives) or tuple of whole numbers of at least 1."""
    if not isinstance(values, (list, tuple)) or not (values or empty):
        few = "a list" if empty else "a list of at least one whole number"
        raise ModelError(_refused(model, parameter, few, values, "[32,64]"))
    if any(isinstance(value, bool) or not isinstance(value, int) or value < 1 for value in values):
        raise ModelError(_refused(model, parameter, "whole numbers of at least 1", list(values), "[32,64]"))
    return tuple(values)


def fraction(model: str, parameter: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise ModelError(_refused(model, parameter, "at least 0 and below 1", value, 0.1))
    return float(value)


def positive(model: str, parameter: str, value: Any, zero: bool = False) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value < math.inf or (value == 0 and not zero):
        raise ModelError(_refused(model, parameter, "a number " + ("of at least 0" if zero else "above 0"), value, 1.0))
    return float(value)


def classes(model: str, image: ImageSpec) -> int:
    """For builders that need labels."""
    if image.classes < 2:
        raise ModelError(f"{model} needs images of at least 2 classes, got {image.classes}; use CLASS/*.png folders")
    return image.classes


def switch(model: str, parameter: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ModelError(_refused(model, parameter, "true or false", value, "true"))
    return value


def one_of(model: str, parameter: str, value: Any, choices: Sequence[str]) -> str:
    if value not in choices:
        raise ModelError(_refused(model, parameter, "one of " + ", ".join(choices), value, choices[0]))
    return value


def heads_divide(model: str, heads: Any, width: Any) -> None:
    whole(model, "heads", heads)
    if whole(model, "width", width) % heads:
        fits = [n for n in range(1, width + 1) if width % n == 0]
        near = min(fits, key=lambda n: abs(n - heads))
        raise ModelError(
            f"{model} needs heads to divide width, got {heads} heads and width {width}; --set heads={near}"
        )


def _refused(model: str, parameter: str, rule: str, value: Any, example: Any) -> str:
    return f"{model} needs {parameter} to be {rule}, got {value!r}; for example --set {parameter}={example}"


def at_least(model: str, image: ImageSpec, side: int, resize: int | None = None) -> None:
    """Refuse images too small for the architecture; `resize` is the size it was made for."""
    if min(image.height, image.width) < side:
        raise ModelError(
            f"{model} needs images of at least {side}x{side}, got {image.height}x{image.width};"
            f" --size {resize or side} resizes"
        )


def multiple_of(model: str, image: ImageSpec, patch: int) -> None:
    """For builders that cut images into patches."""
    if image.height % patch or image.width % patch:
        raise ModelError(
            f"{model} needs a height and width that {patch} divides, got {image.height}x{image.width};"
            f" --size {max(image.height // patch, 1) * patch} resizes, --set patch=... cuts otherwise"
        )
