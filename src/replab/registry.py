"""A kind of thing that is added by adding one file: models, data sources, tasks, optimizers, figures and the rest.

An entry is a function or class under its kind's decorator, in any file of the kind's folder:

    @optimizer                         # in training/optimizers/of_torch.py, or in a new file beside it
    def lion(params, *, lr, ...): ...

Its name is the function's, with `-` for `_`. Files are read as text to list the names and imported only when an
entry is asked for, so that listing, help and refusals of unknown names load nothing that is slow.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar, overload

from replab.errors import UnknownName

E = TypeVar("E")


class Place(NamedTuple):
    """Where an entry stands, and what it says it is."""

    module: str
    attribute: str
    description: str


class Kind:
    """Calling a Kind registers a function or class; keyword arguments become its attributes."""

    def __init__(self, what: str, package: str, mark: str, way_out: str):
        self.what, self.package, self.mark, self.way_out = what, package, mark, way_out
        self._live: dict[str, Any] = {}  # registered in this process: by a user's file, a notebook, a test

    @overload
    def __call__(self, entry: E, /) -> E: ...
    @overload
    def __call__(self, entry: None = None, /, **facts: Any) -> Callable[[E], E]: ...
    def __call__(self, entry: Any = None, /, **facts: Any) -> Any:
        def known(entry: Any) -> Any:
            entry.entry_name = entry_name(entry.__name__)
            for name, value in facts.items():
                setattr(entry, name, value)
            if not entry.__module__.startswith(f"{self.package}."):
                self._live[entry.entry_name] = entry
            return entry

        return known if entry is None else known(entry)

    def names(self) -> list[str]:
        return sorted({*self._places, *self._live})

    def describe(self, name: str) -> str:
        """The first line of its file's docstring, or of its own where a file has several entries."""
        self.check(name)
        text = self._places[name].description if name in self._places else self._live[name].__doc__ or ""
        return text.strip().partition("\n")[0]

    def check(self, name: str) -> None:
        """Refuse a name that nothing is registered under."""
        if name not in self._places and name not in self._live:
            known = self.names()
            raise UnknownName(self.what, name, known, self.way_out.format(names=", ".join(known)))

    def get(self, name: str, load: Callable[[str], ModuleType] = importlib.import_module) -> Any:
        """The entry itself. `load` imports its file: another backend passes its own."""
        self.check(name)
        if name in self._live:
            return self._live[name]
        place = self._places[name]
        return getattr(load(place.module), place.attribute)

    @cached_property
    def _places(self) -> dict[str, Place]:
        found: dict[str, Place] = {}
        for path in sorted(folder_of(self.package).glob("*.py")):
            text = path.read_text(encoding="utf-8")
            if f"\n@{self.mark}" in text:
                found |= dict(self._entries(ast.parse(text), f"{self.package}.{path.stem}"))
        return found

    def _entries(self, tree: ast.Module, module: str) -> list[tuple[str, Place]]:
        nodes = [
            node
            for node in tree.body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and self.mark in map(_called, node.decorator_list)
        ]
        alone = ast.get_docstring(tree) if len(nodes) == 1 else None
        return [
            (entry_name(node.name), Place(module, node.name, alone or ast.get_docstring(node) or "")) for node in nodes
        ]


def entry_name(written: str) -> str:
    """patch_lstm → patch-lstm, CsvTracker → csv-tracker."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", written).replace("_", "-").lower()


def folder_of(package: str) -> Path:
    """A package's folder, without importing the package."""
    top, _, rest = package.partition(".")
    spec = importlib.util.find_spec(top)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent.joinpath(*rest.split("."))


def _called(decorator: ast.expr) -> str:
    """The name in `@name` and `@name(...)`."""
    inner = decorator.func if isinstance(decorator, ast.Call) else decorator
    return inner.id if isinstance(inner, ast.Name) else ""
