"""A picture of a real run in a terminal: the command is run, and what its screen shows at the end becomes an SVG.

python tools/record_terminal.py docs/images/run.svg -- run cnn
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="where the SVG goes")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("words", nargs="+", help="the words after replab")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = terminal().seen(asked.words, asked.columns, folder, timeout=1800)
    asked.out.write_text(picture([f"$ replab {shlex.join(asked.words)}", *lines], asked.columns), encoding="utf-8")
    print("\n".join(lines))


def terminal() -> Any:
    """The terminal that the tests look at."""
    spec = importlib.util.spec_from_file_location("seen", ROOT / "tests/replab/seen.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def picture(lines: list[str], columns: int) -> str:
    console = Console(record=True, width=columns, file=io.StringIO(), legacy_windows=False)
    for line in lines:
        console.print(Text(line, style="bold" if line.startswith("$ ") else ""), soft_wrap=True)
    svg = console.export_svg(title="replab", unique_id="replab")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # nothing is fetched to show it


if __name__ == "__main__":
    main()
