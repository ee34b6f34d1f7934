"""A user's own part, imported: a model, loss, optimizer, schedule, augmentation or metric. One way for all of them.

A Part is a function and where it came from. models/trust.py says whether a file that a run names may be imported.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replab.errors import ModelError, ReplabError
from replab.registry import Kind
from replab.settings import own_parts
from replab.settings.own_parts import CALLED_WITH, LIVE

OF_BACKEND = ("loss", "optimizer")  # their files are loaded with the backend in torch's place; the others' as they are


@dataclass(frozen=True)
class Part:
    """`path` and `text` are those of a user's file; `text` alone, of a function of a Python session."""

    name: str
    function: Callable[..., Any]
    path: Path | None = None
    text: str | None = None

    @property
    def sha256(self) -> str | None:
        return None if self.text is None else hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def place(self) -> str:
        """FILE.py:FUNCTION wherever it is named from; the name, of what is not in a file."""
        return self.name if self.path is None else f"{self.path}:{self.name.rpartition(':')[2]}"


class Parts(dict[str, Part]):
    """A run's own parts by name."""

    def choose(self, kind: Kind, name: str) -> Callable[..., Any]:
        """The user's function of this name, or the registered one."""
        found: Callable[..., Any] = self[name].function if name in self else kind.get(name)
        return found


def load(recipe: Any, backend: Any, given: Mapping[str, Any]) -> Parts:
    """Every own part of a recipe. `given`: the function itself, or the file to take it from, by the recipe's name."""
    from replab.backends.user_file import import_file

    parts = Parts()
    for name, setting in own_parts.own_parts(recipe).items():
        where = given.get(name, name)
        if callable(where):
            part = from_callable(where, name)
        elif where.startswith(LIVE):
            raise ModelError(
                f"{name} was a function in a Python session; replab.resume or load_run(run, {setting}=...) takes it"
            )
        else:
            own_parts.check(where, setting)
            part = from_file(where, backend.load_file if setting in OF_BACKEND else import_file, name)
        _check_call(part, setting)
        parts[name] = part
    return parts


def from_callable(function: Callable[..., Any], name: str) -> Part:
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        text = ""
    return Part(name, function, text=text)


def from_file(where: str, load_file: Callable[[Path], Any], name: str = "") -> Part:
    """FILE.py:FUNCTION, imported."""
    file, _, attribute = where.rpartition(":")
    path = Path(file)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{file} does not import: it cannot be read as text ({error})") from None
    with users_code(f"{file} does not import", path):
        module = load_file(path.resolve())
    if not hasattr(module, attribute):
        names = [n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__]
        raise ModelError(f"{file} has no function or class {attribute!r}; it has {', '.join(names) or 'none'}")
    function = getattr(module, attribute)
    if not callable(function):
        raise ModelError(f"{where} is not callable but {type(function).__name__}; name a function or class")
    return Part(name or where, function, path.resolve(), text)


@contextlib.contextmanager
def users_code(failed: str, path: Path | None = None) -> Iterator[None]:
    """Whatever the user's code raises is an error of the model; sys.exit() in it, too, is no success."""
    try:
        yield
    except (ReplabError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ModelError(f"{failed}: {type(error).__name__}: {_line(error, path)}") from error


def signature(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def accepts(function: Callable[..., Any], name: str) -> bool:
    """Whether it can be called with this keyword."""
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(p.kind is p.VAR_KEYWORD or (p.name == name and p.kind in named) for p in signature(function))


def _check_call(part: Part, setting: str) -> None:
    """Refuse a function that cannot take what it will be called with."""
    wanted = CALLED_WITH[setting]
    try:
        inspect.signature(part.function).bind_partial(*wanted)
        required = [p.name for p in signature(part.function) if p.default is p.empty and p.kind in _ORDINARY]
        fits = setting == "optimizer" or len(required) <= len(wanted)
    except TypeError:
        fits = False
    except ValueError:  # of some built-in functions nothing is known
        fits = True
    if not fits:
        raise ModelError(
            f"{part.name} must take ({', '.join(wanted)}) to be used as {setting}, but takes"
            f" ({', '.join(p.name for p in signature(part.function))}); docs/extend.md has an example"
        )


_ORDINARY = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


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
