"""Models by name: a function `build(image: ImageSpec, *, ...) -> nn.Module` under `@register`, one file each.

The file's name is the model's (`patch_lstm.py` is `patch-lstm`) and its docstring's first line describes it,
so that names are listed without importing torch.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from replab.errors import ModelError, UnknownName

if TYPE_CHECKING:
    from replab.data.images import ImageSpec

Builder = Callable[..., Any]
_registered: dict[str, Builder] = {}


def register(build: Builder | None = None, *, task: str = "classify") -> Any:
    """Make a builder known under its function's name, `_` as `-`. `task` says what its models learn."""

    def known(build: Builder) -> Builder:
        build.__dict__["model_name"] = build.__name__.replace("_", "-")
        build.__dict__["task"] = task
        _registered[build.__dict__["model_name"]] = build
        return build

    return known if build is None else known(build)


def names() -> list[str]:
    return sorted({*_descriptions(), *_registered})


def describe(name: str) -> str:
    """The first line of the model file's docstring."""
    found = _descriptions().get(name) or (_registered[name].__doc__ or "")
    return found.strip().splitlines()[0] if found.strip() else ""


def builder(name: str, load: Callable[[str], ModuleType] = importlib.import_module) -> Builder:
    """The registered builder. `load` imports its file: another backend passes its own."""
    if name in _descriptions():
        stem = name.replace("-", "_")
        return getattr(load(f"replab.models.{stem}"), stem)
    if name in _registered:
        return _registered[name]
    raise UnknownName("model", name, names(), "replab models lists all")


def at_least(model: str, image: ImageSpec, side: int, resize: int | None = None) -> None:
    """For builders: refuse images too small for the architecture; `resize` is the size it was made for."""
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


@cache
def _descriptions() -> dict[str, str]:
    """Model name → file docstring, of every file here that says `@register`: read as text, not imported."""
    found = {}
    for path in Path(__file__).parent.glob("*.py"):
        text = path.read_text()
        if "\n@register" in text:
            found[path.stem.replace("_", "-")] = ast.get_docstring(ast.parse(text)) or ""
    return found
