"""How far a reader has to walk: what one `replab run cnn --lr 1e-3 --epochs 1` does inside the package.

    .venv/bin/python tools/walk.py [--pairs]

The Python of another commit's environment runs it too: functions are found by their names.

Prints how often a function of one file calls one of another (both in replab); how many such pairs of functions there
are (to a reader, a loop that crosses a hundred times is one call); how often the model is built and a recipe parsed
from TOML; how many Recipes are constructed; with `--pairs`, the most frequent pairs of files.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

COMMAND = ["replab", "run", "cnn", "--lr", "1e-3", "--epochs", "1"]
BUILDERS = {("build", "loader.py"), ("build", "model_file.py")}  # model_file: its name before the rooms


class Walk:
    """A profiler for sys.setprofile."""

    def __init__(self, package: Path):
        self.package = f"{package}{os.sep}"
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.calls: set[tuple[CodeType, CodeType]] = set()  # who calls whom, across files
        self.builds = self.parses = self.recipes = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        code, caller = frame.f_code, frame.f_back
        if code.co_name == "__init__" and type(frame.f_locals.get("self")).__name__ == "Recipe":
            self.recipes += 1
        if code.co_name == "loads" and "tomllib" in code.co_filename:
            self.parses += 1
        if not code.co_filename.startswith(self.package):
            return
        self.builds += (code.co_name, os.path.basename(code.co_filename)) in BUILDERS
        if caller is not None and caller.f_code.co_filename.startswith(self.package):
            here, there = (c.co_filename.removeprefix(self.package) for c in (caller.f_code, code))
            if here != there:
                self.pairs[here, there] += 1
                self.calls.add((caller.f_code, code))


def main(pairs: bool) -> None:
    import replab
    from replab.cli import main as command

    walk = Walk(Path(str(replab.__file__)).parent)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.environ["REPLAB_CACHE"] = folder
        sys.argv = [*COMMAND, "--runs", folder]
        sys.setprofile(walk)
        try:
            with contextlib.suppress(SystemExit):
                command()
        finally:
            sys.setprofile(None)
        if not list(Path(folder).glob("*/model.safetensors")):
            sys.exit(f"{' '.join(COMMAND)} made no model")
    print(f"changes of file        {walk.pairs.total():>6}  between {len(walk.pairs)} pairs of files")
    print(f"different such calls   {len(walk.calls):>6}")
    print(f"models built           {walk.builds:>6}")
    print(f"recipes parsed         {walk.parses:>6}")
    print(f"Recipes constructed    {walk.recipes:>6}")
    for (here, there), count in walk.pairs.most_common(30) if pairs else []:
        print(f"{count:>6}  {here} → {there}")


if __name__ == "__main__":
    main("--pairs" in sys.argv)
