"""Writes the table "What is there" of docs/mytorch.md from the code: what torch calls by a name and mytorch has.

python tools/mytorch_names.py            rewrites the table
python tools/mytorch_names.py --print    shows it
"""

from __future__ import annotations

import argparse
import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "mytorch.md"
START, END = "<!-- names: written by tools/mytorch_names.py -->", "<!-- end of names -->"

# (heading, torch's module, mytorch's module, what kind of name)
PARTS = [
    ("torch", "torch", "mytorch", "function"),
    ("Tensor", "torch.Tensor", "mytorch.Tensor", "method"),
    ("torch.nn", "torch.nn", "mytorch.nn", "class"),
    ("torch.nn.functional", "torch.nn.functional", "mytorch.nn.functional", "function"),
    ("torch.nn.init", "torch.nn.init", "mytorch.nn.init", "function"),
    ("torch.nn.utils", "torch.nn.utils", "mytorch.nn.utils", "function"),
    ("torch.nn.utils.rnn", "torch.nn.utils.rnn", "mytorch.nn.utils.rnn", "function"),
    ("torch.autograd", "torch.autograd", "mytorch.autograd", "any"),
    ("torch.autograd.functional", "torch.autograd.functional", "mytorch.autograd_functional", "function"),
    ("torch.linalg", "torch.linalg", "mytorch.linalg", "function"),
    ("torch.fft", "torch.fft", "mytorch.fft", "function"),
    ("torch.optim", "torch.optim", "mytorch.optim", "class"),
    ("torch.optim.lr_scheduler", "torch.optim.lr_scheduler", "mytorch.optim.lr_scheduler", "class"),
    ("torch.distributions", "torch.distributions", "mytorch.distributions", "class"),
    ("torch.utils.data", "torch.utils.data", "mytorch.utils.data", "any"),
    ("torchvision.datasets", "torchvision.datasets", "mytorch.datasets", "class"),
    ("torchvision.transforms", "torchvision.transforms", "mytorch.transforms", "class"),
    (
        "torchvision.transforms.functional",
        "torchvision.transforms.functional",
        "mytorch.transforms.functional",
        "function",
    ),
    ("torchvision.models", "torchvision.models", "mytorch.vision.models", "function"),
    ("torchvision.utils", "torchvision.utils", "mytorch.vision.utils", "function"),
]  # fmt: skip
# Parts whose row must be complete in the page; the others grow with every operator.
COMPLETE = ("torch.nn", "torch.optim", "torch.optim.lr_scheduler", "torch.distributions", "torchvision.transforms")


def found(path: str) -> Any:
    if path.endswith(".Tensor"):
        return found(path.removesuffix(".Tensor")).Tensor
    return importlib.import_module(path)


def fits(name: str, value: Any, kind: str) -> bool:
    if name.startswith("_") or isinstance(value, ModuleType) or not callable(value):
        return False
    if getattr(value, "__module__", None) in ("typing", "abc", "collections", "functools", "collections.abc"):
        return False
    if kind == "class":
        return inspect.isclass(value) and name[0].isupper()
    return not (kind in ("function", "method") and inspect.isclass(value))


def names(torch_path: str, own_path: str, kind: str) -> tuple[list[str], int]:
    """What both have, and how many names torch has."""
    from mytorch.absent import Absent

    theirs, ours = found(torch_path), found(own_path)
    public = [name for name in dir(theirs) if fits(name, getattr(theirs, name, None), kind)]
    have = []
    for name in public:
        try:
            value = getattr(ours, name)
        except (AttributeError, ImportError):
            continue
        if not isinstance(value, Absent):
            have.append(name)
    return sorted(have, key=str.lower), len(public)


def table() -> str:
    rows = ["| part | of torch's names | |", "|---|---|---|"]
    for heading, torch_path, own_path, kind in PARTS:
        have, count = names(torch_path, own_path, kind)
        rows.append(f"| `{heading}` | {len(have)} of {count} | {', '.join(have)} |")
    return "\n".join(rows)


def main() -> None:
    import replab.backends.torchvision_cpu  # noqa: F401  (torchvision can be imported after it on a machine without CUDA)

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--print", action="store_true", dest="only_print")
    if parser.parse_args().only_print:
        print(table())
        return
    text = PAGE.read_text()
    before, rest = text.split(START)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{START}\n{table()}\n{END}{after}")


if __name__ == "__main__":
    main()
