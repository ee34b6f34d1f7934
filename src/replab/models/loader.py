"""From what `--model` says to a module that fits the images: a registered name, `file.py:callable`, or a callable.

Everything that can be wrong with a model is found here, before anything is searched or written.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replab.data.images import ImageSpec
from replab.errors import ModelError, ReplabError
from replab.models.registry import MODELS


@dataclass(frozen=True)
class ModelSource:
    """A builder, and where it came from: `path` and `text` for a file of the user's."""

    name: str
    build: Callable[..., Any]
    path: Path | None = None
    text: str | None = None

    @property
    def sha256(self) -> str | None:
        return None if self.text is None else hashlib.sha256(self.text.encode()).hexdigest()


def find(model: str | Callable[..., Any], backend: Any, expect_sha256: str | None = None) -> ModelSource:
    """The builder that `model` means. `expect_sha256`: refuse a file with another content."""
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
    file, sign, attribute = model.rpartition(":")
    if not sign or file == "" or model.endswith(".py"):
        raise ModelError(f"a model file is given as FILE.py:FUNCTION, got {model!r}; for example {model}:build")
    path = Path(file)
    if not path.is_file():
        raise ModelError(f"no model file {file}: looked in {path.parent.resolve()}")
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{file} does not import: it cannot be read as text ({error})") from None
    digest = hashlib.sha256(text.encode()).hexdigest()
    if expect_sha256 and digest != expect_sha256:
        raise ModelError(
            f"{file} is not the file this run was made with (its SHA-256 begins {digest[:12]}, the run's"
            f" {expect_sha256[:12]}); the run folder keeps the text, --model FILE.py:FUNCTION names a file to use"
        )
    try:
        module = backend.load_file(path.resolve())
    except ReplabError:
        raise
    except (Exception, SystemExit) as error:
        raise ModelError(f"{file} does not import: {type(error).__name__}: {_line(error, path)}") from error
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


def _refuse_instance(build: Any, name: str) -> None:
    """A module is callable too, but there is only one of it."""
    if hasattr(build, "state_dict") and not inspect.isclass(build):
        raise ModelError(f"{name} is a model, not what makes one: each trial needs a new one; give its class")


def build(source: ModelSource, image: ImageSpec, params: Mapping[str, Any], backend: Any) -> Any:
    """The module, or a ModelError that says what the builder would not take."""
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
    try:
        model = source.build(*spec, **params)
    except ReplabError:
        raise
    except Exception as error:
        raise ModelError(
            f"{source.name} could not be built: {type(error).__name__}: {_line(error, source.path)}"
        ) from error
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
