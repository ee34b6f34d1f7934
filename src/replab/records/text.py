"""How values become text: names from elsewhere made harmless, and Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

LONGEST = 2000  # characters of a table's cell


def visible(text: object, keep: str = "") -> str:
    """The text without control characters, which a terminal would obey, and without changes of direction."""
    return "".join(c if c in keep or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else "�" for c in str(text))


def escape(text: object) -> str:
    """Text that Markdown shows as written, on one line: no markup, no HTML, no end of a table's cell."""
    line = visible(text)
    if len(line) > LONGEST:
        line = line[: LONGEST - 1] + "…"
    line = line.replace("&", "&amp;").replace("<", "&lt;")
    line = re.sub(r"([\\`*\[\]|])", r"\\\1", line)
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", line)  # inside a word it is no markup


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *([escape(cell) for cell in row] for row in rows)]
    return "\n".join("|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in lines)


def code(text: str) -> str:
    """A fenced block of Markdown; the fence is longer than any in the text."""
    fence = "`" * max(3, 1 + max((len(ticks) for ticks in re.findall("`+", text)), default=0))
    return f"{fence}\n{visible(text, keep=chr(10))}\n{fence}"
