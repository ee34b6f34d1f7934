"""Models by name: a function `build(image: ImageSpec, *, ...) -> nn.Module` under `@register`, in a file of zoo/.

A file is named like its model (`patch_lstm.py` is `patch-lstm`) and its docstring's first line describes it.
"""

from __future__ import annotations

from replab.registry import Kind

MODELS = Kind("model", "replab.models.zoo", "register", "replab models lists all")


def register(build=None, *, task: str = "classify"):  # type: ignore[no-untyped-def]
    """Make a builder known under its function's name. `task` says what its models learn."""
    return MODELS(task=task) if build is None else MODELS(task=task)(build)
