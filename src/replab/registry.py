"""A kind of thing that is added by adding one file: models, data sources, tasks, optimizers, figures and the rest.

An entry is a function or class under its kind's decorator, in any file of the kind's folder:

    @optimizer                         # in training/optimizers/of_torch.py, or in a new file beside it
    def lion(params, *, lr, ...): ...

Its name is the function's, with `-` for `_`. Files are read as text to list the names and imported only when an
entry is asked for, so that listing, help and refusals of unknown names load nothing that is slow.

A kind with a `group` also has the entries of installed packages, by entry points of that group: `NAME =
"package.module:function"` is one of them, `ANY = "package.module"` all those of a module under the kind's decorator.
They are read as text and imported when asked for, too; what cannot be read is named in a warning and skipped.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import warnings
from collections.abc import Callable
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar, overload

from replab.errors import ReplabError, UnknownName

E = TypeVar("E")


class Place(NamedTuple):
    """Where an entry stands, and what it says it is."""

    module: str
    attribute: str
    description: str
    plugin: str = ""  # the package it comes from, where that is not this one


class PluginSkipped(UserWarning):
    """A plugin that cannot be used."""


class Kind:
    """Calling a Kind registers a function or class; keyword arguments become its attributes."""

    def __init__(self, what: str, package: str, mark: str, way_out: str, group: str = ""):
        self.what, self.package, self.mark, self.way_out, self.group = what, package, mark, way_out, group
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
        return sorted({*self._places, *self._live, *self._plugins})

    def describe(self, name: str) -> str:
        """The first line of its file's docstring, or of its own where a file has several entries."""
        self.check(name)
        place = self._places.get(name) or (None if name in self._live else self._plugins[name])
        text = place.description if place else self._live[name].__doc__ or ""
        return text.strip().partition("\n")[0] + (f" (of {place.plugin})" if place and place.plugin else "")

    def check(self, name: str) -> None:
        """Refuse a name that nothing is registered under."""
        if name not in self._places and name not in self._live and name not in self._plugins:
            known = self.names()
            raise UnknownName(self.what, name, known, self.way_out.format(names=", ".join(known)))

    def get(self, name: str, load: Callable[[str], ModuleType] = importlib.import_module) -> Any:
        """The entry itself. `load` imports its file: another backend passes its own."""
        self.check(name)
        if name in self._live:
            return self._live[name]
        place = self._places.get(name) or self._plugins[name]
        if not place.plugin:
            return getattr(load(place.module), place.attribute)
        try:
            found: Any = load(place.module)
            for part in place.attribute.split("."):
                found = getattr(found, part)
        except Exception as error:  # whatever a package of somebody else's may raise
            text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            raise ReplabError(
                f"the {self.what} {name!r} comes from {place.plugin}, which does not import ({text}); update or"
                " uninstall it"
            ) from error
        return found

    @cached_property
    def _places(self) -> dict[str, Place]:
        found: dict[str, Place] = {}
        for path in sorted(folder_of(self.package).glob("*.py")):
            text = path.read_text(encoding="utf-8")
            if f"\n@{self.mark}" in text:
                found |= dict(self._entries(ast.parse(text), f"{self.package}.{path.stem}"))
        return found

    @cached_property
    def _plugins(self) -> dict[str, Place]:
        """Entries of installed packages; names that are taken stay with those who have them."""
        found: dict[str, Place] = {}
        for point in plugins(self.group):
            try:
                places = dict(self._of_point(point))
            except (OSError, ImportError, SyntaxError, ValueError) as error:
                skip(point, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
                continue
            for name, place in places.items():
                if name in self._places or name in found:
                    skip(point, f"there is a {self.what} named {name!r} already")
                else:
                    found[name] = place
        return found

    def _of_point(self, point: EntryPoint) -> list[tuple[str, Place]]:
        tree = ast.parse(module_file(point.module).read_text(encoding="utf-8"))
        package = point.dist.name if point.dist else point.module
        if not point.attr:
            return [(name, place._replace(plugin=package)) for name, place in self._entries(tree, point.module)]
        nodes = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        own = next((node for node in nodes if node.name == point.attr), None)
        text = (ast.get_docstring(own) if own else "") or ast.get_docstring(tree) or ""
        return [(entry_name(point.name), Place(point.module, point.attr, text, package))]

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


def plugins(group: str) -> list[EntryPoint]:
    """The entry points of a group, in the order of their names."""
    return sorted(entry_points(group=group), key=lambda point: (point.name, point.value)) if group else []


def skip(point: EntryPoint, why: str) -> None:
    package = point.dist.name if point.dist else point.module
    text = f"the plugin {point.name} = {point.value!r} of {package} is skipped: {why}"
    warnings.warn(text, PluginSkipped, stacklevel=2)


def module_file(module: str) -> Path:
    """A module's file, without importing it or the packages above it."""
    top, _, rest = module.partition(".")
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {top!r}")
    if not rest:
        return Path(spec.origin)
    inner = Path(spec.origin).parent.joinpath(*rest.split("."))
    found = next((path for path in (inner.with_suffix(".py"), inner / "__init__.py") if path.is_file()), None)
    if found is None:
        raise ModuleNotFoundError(f"No module named {module!r}")
    return found


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
