"""From what a model is called to a module that fits the images: a registered name, FILE.py:FUNCTION, or a callable.

Everything that can be wrong with a model is found here, before anything is searched or written.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replab.data.images import ImageSpec
from replab.errors import ModelError, ReplabError
from replab.models.registry import MODELS, check


@dataclass(frozen=True)
class ModelSource:
    """A builder, and where it came from: `path` and `text` of a user's file."""

    name: str
    build: Callable[..., Any]
    path: Path | None = None
    text: str | None = None

    @property
    def sha256(self) -> str | None:
        return None if self.text is None else hashlib.sha256(self.text.encode()).hexdigest()


def find(model: str | Callable[..., Any], backend: Any) -> ModelSource:
    """The builder that `model` means. A file is imported: models.trust says whether one that a run names may be."""
    if callable(model):
        _refuse_instance(model, getattr(model, "__class__", type(model)).__name__)
        name = getattr(model, "entry_name", None) or f"python:{getattr(model, '__qualname__', type(model).__name__)}"
        try:
            text = inspect.getsource(model)
        except (OSError, TypeError):
            text = ""
        return ModelSource(name, model, text=text)
    if ".py:" not in model and not model.endswith(".py"):
        if model.startswith("python:"):
            raise ModelError(
                f"{model} was a function in a Python session; replab.resume(run, model=...) takes it again"
            )
        if backend.name == "torch" and (model == "vit-b16" or model.startswith("torchvision:")):
            from replab.models.pretrained import backbones

            return ModelSource(model, backbones.builder(model))
        return ModelSource(model, MODELS.get(model, backend.load_module))
    check(model)
    file, _, attribute = model.rpartition(":")
    path = Path(file)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{file} does not import: it cannot be read as text ({error})") from None
    with users_code(f"{file} does not import", path):
        module = backend.load_file(path.resolve())
    if not hasattr(module, attribute):
        names = [n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__]
        raise ModelError(f"{file} has no function or class {attribute!r}; it has {', '.join(names) or 'none'}")
    build = getattr(module, attribute)
    if not callable(build):
        raise ModelError(
            f"{model} is not callable but {type(build).__name__}; name a function or class that returns a module"
        )
    _refuse_instance(build, model)
    return ModelSource(model, build, path.resolve(), text)


@contextlib.contextmanager
def users_code(failed: str, path: Path | None = None) -> Iterator[None]:
    """Whatever the user's code raises is an error of the model; sys.exit() in it, too, is no success."""
    try:
        yield
    except (ReplabError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ModelError(f"{failed}: {type(error).__name__}: {_line(error, path)}") from error


def _refuse_instance(build: Any, name: str) -> None:
    """A module is callable too, but there is only one of it."""
    if hasattr(build, "state_dict") and not inspect.isclass(build):
        raise ModelError(f"{name} is a model instance; pass its class or a builder function")


def build(source: ModelSource, image: ImageSpec, params: Mapping[str, Any], backend: Any) -> Any:
    """The module, or a ModelError that says what the builder does not accept."""
    signature = _signature(source.build)
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
        model = source.build(*spec, **params)
    if not isinstance(model, backend.lib.nn.Module):
        raise ModelError(f"{source.name} must return a {backend.name} nn.Module, got {type(model).__name__}")
    return model


def parameters(source: ModelSource) -> set[str]:
    """The names that --set may give."""
    signature = _signature(source.build)
    return {p.name for p in signature if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)} - _image_names(signature)


_ORDINARY = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _signature(builder: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(builder).parameters.values())
    except (TypeError, ValueError):
        return []


def _image_names(signature: list[inspect.Parameter]) -> set[str]:
    """The first parameter's name if it is meant for the ImageSpec: annotated so, named so, or the only one required."""
    positional = [p for p in signature if p.kind in _ORDINARY]
    if not positional:
        return set()
    first, required = positional[0], [p for p in positional if p.default is inspect.Parameter.empty]
    annotated = "ImageSpec" in str(first.annotation)
    named = first.name in ("image", "spec", "image_spec")
    return {first.name} if annotated or named or required == [first] else set()


def _line(error: BaseException, path: Path | None) -> str:
    """The message in one line, with the line of the user's file it came from."""
    text = " ".join(str(error).split()) or "no message"
    if isinstance(error, SyntaxError):
        return f"{error.msg} (line {error.lineno})"
    trace = error.__traceback__
    while trace is not None:
        if path is not None and trace.tb_frame.f_code.co_filename == str(path.resolve()):
            return f"{text} (line {trace.tb_lineno})"
        trace = trace.tb_next
    return text
