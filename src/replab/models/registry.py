"""Models by name: a function `build(image: ImageSpec, *, ...) -> nn.Module` under `@register`, in a file of zoo/.

A file is named like its model (`patch_lstm.py` is `patch-lstm`) and its docstring's first line describes it.
"""

from __future__ import annotations

from pathlib import Path

from replab.registry import Kind, folder_of
from replab.settings import own_parts

MODELS = Kind("model", "replab.models.zoo", "register", "replab models lists all", group="replab.models")


def register(build=None, *, task: str = "classify"):  # type: ignore[no-untyped-def]
    """Make a builder known under its function's name. `task` says what its models learn."""
    return MODELS(task=task) if build is None else MODELS(task=task)(build)


def settings_file(model: str) -> Path | None:
    """The recipe that a registered model was published with, if one stands beside it: airbench94.toml."""
    file = folder_of(MODELS.package) / f"{model.replace('-', '_')}.toml"
    return file if model in MODELS.names() and file.is_file() else None


def check(model: str) -> None:
    """Refuse a name that is not registered and a file that does not exist, without importing anything."""
    if own_parts.is_file(model):
        own_parts.check(model)
    elif model != "vit-b16" and not model.startswith(("torchvision:", "timm:", own_parts.LIVE)):
        MODELS.check(model)
