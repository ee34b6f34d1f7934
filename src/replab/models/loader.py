"""From what a model is called to a module that fits the images: a registered name, FILE.py:FUNCTION, or a callable.

Everything that can be wrong with a model is found here, before anything is searched or written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from replab.backends.own_parts import Part, from_callable, from_file, users_code
from replab.backends.own_parts import signature as signature_of
from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.models.registry import MODELS, check
from replab.settings.own_parts import LIVE, is_file


def find(model: str | Callable[..., Any], backend: Any) -> Part:
    """The builder that `model` means. A file is imported: models.trust says whether one that a run names may be."""
    if callable(model):
        _refuse_instance(model, getattr(model, "__class__", type(model)).__name__)
        name = getattr(model, "entry_name", None) or f"{LIVE}{getattr(model, '__qualname__', type(model).__name__)}"
        return from_callable(model, name)
    if not is_file(model):
        if model.startswith(LIVE):
            raise ModelError(
                f"{model} was a function in a Python session; replab.resume(run, model=...) takes it again"
            )
        if backend.name == "torch" and (model == "vit-b16" or model.startswith("torchvision:")):
            from replab.models.pretrained import backbones

            return Part(model, backbones.builder(model))
        if model.startswith("timm:"):
            if backend.name != "torch":
                raise ModelError(f"{model} runs on torch, got --backend {backend.name}; leave --backend out")
            from replab.models.pretrained import of_timm

            return Part(model, of_timm.builder(model))
        return Part(model, MODELS.get(model, backend.load_module))
    check(model)
    source = from_file(model, backend.load_file)
    _refuse_instance(source.function, model)
    return source


def _refuse_instance(build: Any, name: str) -> None:
    """A module is callable too, but there is only one of it."""
    if hasattr(build, "state_dict") and not inspect.isclass(build):
        raise ModelError(f"{name} is a model instance; pass its class or a builder function")


def build(source: Part, image: ImageSpec, params: Mapping[str, Any], backend: Any) -> Any:
    """The module, or a ModelError that says what the builder does not accept."""
    signature = signature_of(source.function)
    named = parameters(source)
    if not any(p.kind is p.VAR_KEYWORD for p in signature):
        for key in params:
            if key not in named:
                known = ", ".join(sorted(named)) or "none"
                raise ModelError(f"{source.name} has no parameter {key!r}; --set takes: {known}")
    spec = (image,) if _image_names(signature) else ()
    missing = [
        p.name
        for p in signature[len(spec) :]
        if p.default is p.empty and p.kind in (*_ORDINARY, p.KEYWORD_ONLY) and p.name not in params
    ]
    if missing:
        raise ModelError(f"{source.name} needs {', '.join(missing)}; give them with --set {missing[0]}=...")
    with users_code(f"{source.name} could not be built", source.path):
        model = source.function(*spec, **params)
    if not isinstance(model, backend.lib.nn.Module):
        raise ModelError(f"{source.name} must return a {backend.name} nn.Module, got {type(model).__name__}")
    if any(getattr(module, "has_uninitialized_params", bool)() for module in model.modules()):
        _learn_sizes(model, source, image, backend)
    return model


def _learn_sizes(model: Any, source: Part, image: ImageSpec, backend: Any) -> None:
    """Lazy layers take their sizes from the first image they see; here it is a black one."""
    with users_code(f"{source.name}'s lazy layers could not learn their sizes", source.path), backend.lib.no_grad():
        model.eval()(backend.lib.zeros(1, image.channels, image.height, image.width))
    model.train()


def parameters(source: Part) -> set[str]:
    """The names that --set may give."""
    signature = signature_of(source.function)
    return {p.name for p in signature if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)} - _image_names(signature)


_ORDINARY = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _image_names(signature: list[inspect.Parameter]) -> set[str]:
    """The first parameter's name if it is meant for the ImageSpec: annotated so, named so, or the only one required."""
    positional = [p for p in signature if p.kind in _ORDINARY]
    if not positional:
        return set()
    first, required = positional[0], [p for p in positional if p.default is inspect.Parameter.empty]
    annotated = "ImageSpec" in str(first.annotation)
    named = first.name in ("image", "spec", "image_spec")
    return {first.name} if annotated or named or required == [first] else set()
