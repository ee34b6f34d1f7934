"""Running code that says `import torch` on mytorch: a whole script, or one file beside a real torch.

run_script puts mytorch into sys.modules under torch's names and runs the script, as `python -m mytorch` does.
import_as_torch leaves torch's names in sys.modules alone: the file's own `import` statements are answered with
mytorch, so that the same process may hold real torch as well.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import importlib.util
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .absent import is_absent
from .absent import module as absent_module
from .dtypes import unsupported
from .torch_paths import FILES, TORCH


class UnsupportedImport(ImportError, NotImplementedError):
    """A module that torch has and mytorch does not have."""


def torch_module(name: str) -> ModuleType:
    """mytorch's module for a torch or torchvision module's name."""
    if name in TORCH:
        parent, _, last = TORCH[name].rpartition(".")
        if parent == "mytorch.backends":  # its parts are values, not files
            return getattr(importlib.import_module(parent), last)
        return _open(importlib.import_module(TORCH[name]))
    if is_absent(name):
        return absent_module(name)
    raise UnsupportedImport(f"mytorch has no module '{name}'; supported: docs/mytorch.md", name=name)


class _Package(ModuleType):
    """A module of mytorch that scripts reach under torch's name."""

    def __setattr__(self, name: str, value: Any) -> None:
        """A function keeps its name when a file of that name is imported (torch.nn.utils.weight_norm), as in torch."""
        if not (isinstance(value, ModuleType) and callable(getattr(self, name, None))):
            super().__setattr__(name, value)


def _open(module: ModuleType) -> ModuleType:
    """Lets scripts go on from a module to those that torch has below it, without importing them one by one.

    `torch.nn.modules.batchnorm._BatchNorm` works in torch after `import torch`. So every module that is reached gets a
    __getattr__ that looks for a name in the module's own __getattr__, then among torch's modules, then in the package
    (torch may define the name in another file than mytorch), and otherwise says that mytorch does not have it.
    """
    if type(module) is not ModuleType or not module.__name__.startswith("mytorch"):
        return module
    own = vars(module).get("__getattr__")
    paths = sorted((path for path, answer in TORCH.items() if answer == module.__name__), key=len)

    def look(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{paths[0]}' has no attribute '{name}'")
        if own is not None:
            try:
                value = own(name)
            except AttributeError:
                pass
            else:
                return _open(value) if isinstance(value, ModuleType) else value
        for path in paths:
            if f"{path}.{name}" in TORCH or is_absent(f"{path}.{name}"):
                return torch_module(f"{path}.{name}")
        for package in (path.rpartition(".")[0] for path in paths):
            names = vars(importlib.import_module(TORCH[package])) if own is None and package in FILES else {}
            if name in names:
                return names[name]
        raise unsupported(f"{paths[0]}.{name}")

    vars(module)["__getattr__"] = look
    module.__class__ = _Package
    for inner in list(vars(module).values()):
        if isinstance(inner, ModuleType) and inner.__name__ in _ANSWERS:
            _open(inner)
    return module


_ANSWERS = frozenset(TORCH.values())


def is_torch(name: str) -> bool:
    return name.partition(".")[0] in ("torch", "torchvision")


class _Answer:
    """Finder and loader of torch's modules: each is mytorch's own, put into sys.modules under torch's name."""

    def __init__(self) -> None:
        self.files: list[Any] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return importlib.machinery.ModuleSpec(name, self) if is_torch(name) else None  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        answer = torch_module(module.__name__)
        if not hasattr(answer, "__path__"):  # only of a package is a name below it looked for (torch.autograd.variable)
            answer.__path__ = []
            self.files.append(answer)
        sys.modules[module.__name__] = answer  # the import system takes what lies there

    def close(self) -> None:
        for module in self.files:
            del module.__path__


def run_script(path: str, argv: Sequence[str] = ()) -> dict[str, Any]:
    """Runs a Python file as __main__ with mytorch in torch's place; gives its global names."""
    torch_modules = {name: module for name, module in sys.modules.items() if is_torch(name)}
    old_argv, old_path, old_names = sys.argv, sys.path[:], set(sys.modules)
    folder = Path(path).resolve().parent
    answer: Any = _Answer()
    for name in torch_modules:
        del sys.modules[name]
    try:
        sys.meta_path.insert(0, answer)
        sys.argv = [path, *argv]
        sys.path.insert(0, str(folder))
        return runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv, sys.path[:] = old_argv, old_path
        if answer in sys.meta_path:
            sys.meta_path.remove(answer)
        answer.close()
        for name in set(sys.modules) - old_names:  # what the script imported from beside it now means mytorch
            if folder in Path(getattr(sys.modules[name], "__file__", None) or "").parents:
                del sys.modules[name]
        for name in [name for name in sys.modules if is_torch(name)]:
            del sys.modules[name]
        sys.modules.update(torch_modules)


def import_as_torch(path: str | Path, package: str | None = None) -> ModuleType:
    """Loads one Python file with mytorch in torch's place, without touching torch in sys.modules.

    `package` is the dotted name of the package the file lies in. Its modules, as far as the file imports them
    (`from .patches import x`, `from package.patches import x`), are loaded as private copies on mytorch too;
    a package's own __init__ is run only if a name is taken from it. All other imports are ordinary.
    """
    stem = Path(path).stem
    return _Loader(package).run(f"{package}.{stem}" if package else stem, Path(path), package or "")


class _Loader:
    def __init__(self, package: str | None):
        self.package = package
        self.loaded: dict[str, ModuleType] = {}

    def run(self, name: str, path: Path, parent: str) -> ModuleType:
        # Under a name of its own the module is in sys.modules, where @dataclass and pickle look a class's module up.
        module = sys.modules[f"mytorch:{name}"] = ModuleType(f"mytorch:{name}")
        module.__file__, module.__package__ = str(path), parent
        # An import statement calls the __import__ of its module's builtins: this is the whole trick.
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self.import_}
        self.loaded[name] = module
        try:
            exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
        except BaseException:
            del self.loaded[name]
            raise
        return module

    def import_(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        wanted = importlib.util.resolve_name("." * level + name, globals["__package__"]) if level else name
        if is_torch(wanted):
            module = torch_module(wanted)
            return module if fromlist else torch_module(wanted.partition(".")[0])
        if self.package is None or not f"{wanted}.".startswith(f"{self.package}."):
            return builtins.__import__(name, globals, locals, fromlist, level)
        if not fromlist:
            raise UnsupportedImport(
                f"inside {self.package} mytorch takes `from {wanted} import …`, but got `import {wanted}`"
            )
        modules = {each: self.private(f"{wanted}.{each}") for each in fromlist}
        if all(modules.values()):  # submodules only: no need to run the package itself
            names = ModuleType(wanted)
            vars(names).update(modules)
            return names
        package = self.private(wanted)
        if package is None:
            raise ModuleNotFoundError(f"No module named '{wanted}'", name=wanted)
        vars(package).update({each: inner for each, inner in modules.items() if inner is not None})
        return package

    def private(self, name: str) -> ModuleType | None:
        """This loader's copy of a module of the package, or None if there is no such module."""
        if name in self.loaded:
            return self.loaded[name]
        spec = find_without_running(name)
        if spec is None or spec.origin is None:
            return None
        is_package = spec.submodule_search_locations is not None
        return self.run(name, Path(spec.origin), name if is_package else name.rpartition(".")[0])


def find_without_running(name: str) -> importlib.machinery.ModuleSpec | None:
    """Where a module is. importlib.util.find_spec would import, and so run, the packages above it."""
    spec, places = None, None
    for end in range(1, name.count(".") + 2):
        part = ".".join(name.split(".")[:end])
        if end > 1 and places is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(part, places)
        if spec is None:
            # An installed package may be found by other finders (an editable install).
            spec = importlib.util.find_spec(part) if end == 1 else None
        if spec is None:
            return None
        places = spec.submodule_search_locations
    return spec
