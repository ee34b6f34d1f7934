"""Import a file of the user's where it stands."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from replab.errors import ModelError


def import_file(path: Path) -> ModuleType:
    """Import a user's file in place, so that its neighbours, and its package if it has one, can be imported too."""
    root, parts = path.parent, [path.stem]
    while (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    _forget_other_roots(root)
    if "torchvision" not in sys.modules and not any(isinstance(finder, Torchvision) for finder in sys.meta_path):
        sys.meta_path.insert(0, Torchvision())
    if len(parts) > 1:
        name = ".".join(parts)
        sys.modules.pop(name, None)  # an edited file is read again
        return importlib.import_module(name)
    name = f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise ModelError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module


class Torchvision(Loader, MetaPathFinder):
    """Answers the first `import torchvision`, in a user's file or a neighbour of it: a CPU-only torch needs help."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name == "torchvision" else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.meta_path.remove(self)
        del sys.modules["torchvision"]
        from replab.backends import torchvision_cpu

        # Called, not read: torchvision_cpu may be the one who imports it. The import system takes what lies there.
        sys.modules["torchvision"] = torchvision_cpu.import_torchvision()


_roots: list[Path] = []  # folders of users' files, whose neighbours can be imported


def _forget_other_roots(root: Path) -> None:
    """Neighbours come from this folder, not from the folder of a file that was imported earlier."""
    for name in list(sys.modules):
        file, place = getattr(sys.modules[name], "__file__", None), name.replace(".", "/")
        # a folder may hold a whole environment with torch in it, so the exact path decides
        if any(other != root and file in (f"{other}/{place}.py", f"{other}/{place}/__init__.py") for other in _roots):
            del sys.modules[name]
    sys.path[:] = [str(root), *(entry for entry in sys.path if entry != str(root))]
    if root not in _roots:
        _roots.append(root)
