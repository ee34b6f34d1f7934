"""The law of the house: imports point up the list of rooms, no module reaches itself, and light rooms stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from textwrap import dedent

SRC = Path(__file__).resolve().parents[1] / "src"

# A module imports from its own room and from those above it. Names in one line share a room.
ROOMS = [
    ("errors", "registry", "files", "interruption"),
    ("settings",),
    ("records",),
    ("backends",),
    ("data",),
    ("models",),
    ("preflight",),
    ("figures",),
    ("tasks",),
    ("training",),
    ("search",),
    ("explain",),
    ("runs",),
    ("deploy",),
    ("report",),
    ("pipeline",),
    ("api",),
    ("several",),
    ("classifier",),
    ("race",),
    ("__init__",),  # `import replab`: the names of the api
    ("replication",),
    ("web",),
    ("cli", "__main__"),
]
RANK = {name: rank for rank, room in enumerate(ROOMS) for name in room}

# Folders that grow by one file per entry: one model, one picture, one data set, one published source.
ONE_FILE_PER_ENTRY = {"models/zoo", "figures", "data/sources", "replication/packs"}
MOST_FILES = 14  # of any other folder, __init__.py apart


@cache
def modules() -> dict[str, Path]:
    """Dotted name → file; a package is its __init__.py."""
    files = {path: ".".join(path.relative_to(SRC).with_suffix("").parts) for path in SRC.glob("replab/**/*.py")}
    return {name.removesuffix(".__init__"): path for path, name in files.items()}


@cache
def imports(name: str) -> frozenset[str]:
    """The modules of replab that a module names in an import: at its top, in functions, and for types only."""
    path, targets = modules()[name], set()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            inner = {f"{base}.{alias.name}" for alias in node.names}
            targets |= {target if target in modules() else base for target in inner}
    return frozenset(target for target in targets if target in modules() and target != name)


def room(name: str) -> str:
    """replab.data.load → data; the package itself → __init__."""
    return name.split(".")[1] if "." in name else "__init__"


def test_every_module_stands_in_a_room():
    strangers = {room(name) for name in modules()} - RANK.keys()
    assert not strangers, f"no room is called {', '.join(sorted(strangers))}: ROOMS above has the order"


def test_imports_point_up_the_list_of_rooms():
    all_ = {(a, b) for a in modules() for b in imports(a)}
    new = sorted(f"{a} imports {b}" for a, b in all_ if RANK[room(a)] < RANK[room(b)])
    assert not new, f"{room_order()}\n" + "\n".join(new)


def room_order() -> str:
    return "a module may import its own room and those before it: " + " < ".join("/".join(names) for names in ROOMS)


def test_no_module_imports_itself_by_way_of_others():
    """Lazy imports count: a cycle that is put off to run time is still two modules that are one."""
    way: list[str] = []
    done: set[str] = set()
    cycles = []

    def visit(name: str) -> None:
        if name in way:
            cycles.append(" → ".join([*way[way.index(name) :], name]))
        elif name not in done:
            way.append(name)
            for target in sorted(imports(name)):
                visit(target)
            done.add(way.pop())

    for name in sorted(modules()):
        visit(name)
    assert not cycles, "\n".join(cycles)


def test_every_folder_is_a_package():
    assert not {path.parent for path in modules().values() if not (path.parent / "__init__.py").is_file()}


def test_folders_stay_small():
    counts = Counter(path.parent for path in modules().values() if path.name != "__init__.py")
    large = {folder.relative_to(SRC / "replab").as_posix(): n for folder, n in counts.items() if n > MOST_FILES}
    assert not {folder: n for folder, n in large.items() if folder not in ONE_FILE_PER_ENTRY}


def loaded(code: str, *prefixes: str) -> list[str]:
    """Modules under these names that a fresh process has imported after running the code."""
    shown = f"\nimport sys\nprint('loaded:', *sorted(m for m in sys.modules if m.split('.')[0] in {prefixes!r}))"
    done = subprocess.run([sys.executable, "-c", dedent(code) + shown], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.rpartition("loaded:")[2].split()


LIGHT = ("errors", "registry", "files", "settings", "records", "figures", "tasks", "runs", "report")
COMPUTES = {"replab.runs.checks", "replab.runs.retest"}  # the audit's questions to the model itself


def test_light_rooms_need_neither_torch_nor_optuna():
    """Reading runs, listing and refusals stay quick: these rooms import what computes inside functions only."""
    light = [name for name in sorted(modules()) if (room(name) in LIGHT or name == "replab") and name not in COMPUTES]
    code = "\n".join(f"import {name}" for name in light)
    assert loaded(code, "torch", "optuna", "mytorch", "torchvision", "sklearn") == []


def test_a_torch_run_imports_nothing_of_mytorch():
    code = """
        from replab import api
        api.run("mlp", limit=60, lr=1e-3, epochs=1, params={"widths": [8]}, quiet=True)
    """
    assert loaded(code, "mytorch") == []


def test_mytorch_imports_only_numpy():
    """What it hands over to others, or takes from them, is imported in the one function that needs it."""
    at_top, inside = set(), set()
    for path in SRC.glob("mytorch/**/*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            (at_top if node in tree.body else inside).update(name.partition(".")[0] for name in names)
    own = {*sys.stdlib_module_names, "mytorch"}
    assert at_top - own == {"numpy"}
    assert inside - own <= {"numpy", "torch", "PIL", "matplotlib", "tqdm"}  # things of others
    assert loaded("import mytorch, mytorch.nn, mytorch.optim, mytorch.serialization", "torch", "replab", "scipy") == []
