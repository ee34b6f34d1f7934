"""The page's templates, style and scripts: files beside this one, sent one by one by a server or joined into a page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
STATIC = HERE / "static"
IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)


@cache
def environment(*folders: Path) -> Any:
    """Templates of these folders and of this one. Every value is escaped."""
    import jinja2

    loader = jinja2.FileSystemLoader([*folders, HERE / "templates"])
    templates = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters["data"] = as_data
    return templates


def as_data(value: Any) -> Any:
    """JSON for a data block: no name in it can end the block or begin another."""
    import markupsafe

    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return markupsafe.Markup(text)


@cache
def joined(entry: str) -> str:
    """An ES module with all that it imports, as one script: each module once, after those it needs."""
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        if name in texts:
            return
        text = (STATIC / name).read_text(encoding="utf-8")
        for needed in IMPORT.findall(text):
            add(needed)
        texts[name] = re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.MULTILINE)

    add(entry)
    script = "\n".join(texts.values())
    assert "</script" not in script.lower()
    return script


@cache
def style() -> str:
    return (STATIC / "page.css").read_text(encoding="utf-8")


def digest(text: str) -> str:
    """How a Content-Security-Policy names a script or style inside the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(script: str, css: str) -> str:
    """Only this script and this style run, images are inside the page, and nothing is fetched."""
    rules = ("default-src 'none'", f"script-src {digest(script)}", f"style-src {digest(css)}", "img-src data:")
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])
