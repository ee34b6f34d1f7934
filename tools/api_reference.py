"""docs/api.md from the docstrings: names, signatures with real keywords, examples. python tools/api_reference.py

A docstring's `Example:` becomes a block of Python, which the tests run; tests/test_api_page.py says when
to run this again.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import replab
from replab.runs.run import Run
from replab.settings.recipe import all_settings

PAGE = Path(__file__).parents[1] / "docs/api.md"
NAMES = (
    "run", "resume", "load_run", "all_runs", "compare", "export", "card", "load_data", "register", "list_models",
    "list_datasets", "Classifier", "Run", "Recipe", "Dataset", "Images", "ImageSpec", "ReplabError",
)  # fmt: skip
INTRO = """# Python interface

Made from the docstrings by `python tools/api_reference.py`. The examples are run by the tests, in order.

```python
import replab
```
"""


def page() -> str:
    others = set(replab.__all__) - set(NAMES)
    assert not others, f"NAMES above says where {', '.join(sorted(others))} stands on the page"
    parts = [INTRO, *(entry(name) for name in NAMES), settings()]
    return "\n".join(parts)


def entry(name: str) -> str:
    thing = Run if name == "Run" else getattr(replab, name)
    title = f"## {name}\n" if name == "Run" else f"## replab.{name}\n"
    if not inspect.isclass(thing):
        return f"{title}\n```text\n{signature(name, thing)}\n```\n\n{prose(thing)}"
    lines = [title, prose(thing)]
    for member, value in members(thing):
        if isinstance(value, property):
            lines.append(f"- **{member}** {first_line(value.fget)}".rstrip())
        else:
            shown = signature(member, getattr(thing, member), wide=True)
            lines.append(f"- **{shown}**: {first_line(value)}".replace("**: ", "** ").rstrip())
    return "\n".join(lines) + "\n"


def members(thing: type) -> list[tuple[str, Any]]:
    """Public methods and properties with a word of explanation, in the order of the file."""
    found = []
    for name, value in vars(thing).items():
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if not name.startswith("_") and (inspect.isfunction(plain) or isinstance(plain, property)):
            found.append((name, plain))
    return found


def signature(name: str, thing: Any, wide: bool = False) -> str:
    """One parameter per line where they do not fit on one."""
    shown = inspect.signature(thing)
    parameters = [p for p in shown.parameters.values() if p.name != "self"]
    words, starred = [], False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            words.append("*")
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        words.append(word(parameter))
    back = "" if shown.return_annotation is shown.empty else f" -> {shown.return_annotation}".replace("'", "")
    line = f"{name}({', '.join(words)}){back}"
    if wide or len(line) <= 110:
        return line
    return f"{name}(\n    " + ",\n    ".join(words) + f",\n){back}"


def word(parameter: inspect.Parameter) -> str:
    """name: type = default"""
    stars = (
        "**" if parameter.kind is parameter.VAR_KEYWORD else "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
    )
    kind = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{kind}"
    default = "…" if callable(parameter.default) else json.dumps(parameter.default, default=str)
    plain = {"null": "None", "true": "True", "false": "False", "[]": "()"}.get(default, default)
    return f"{parameter.name}{kind} = {plain}" if kind else f"{parameter.name}={plain}"


def prose(thing: Any) -> str:
    """The docstring; its example as a block of code."""
    text, _, example = (inspect.getdoc(thing) or "").partition("\nExample:\n")
    return text.strip() + "\n" + (f"\n```python\n{dedent(example).strip()}\n```\n" if example else "")


def first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")


def settings() -> str:
    """Every keyword of a recipe, in one table."""
    lines = [
        "## Settings\n\nThe keywords of `run`, `compare` and `Recipe`, and the flags of the command line; those with",
        "`search.` stand in `search={...}`.\n\n| keyword | flag | default | what |\n|---|---|---|---|",
    ]
    for declared in all_settings():
        flag = "" if declared.flag == "positional" else f"`{declared.flag}`"
        cell = str(declared.help).replace("|", "\\|")
        lines.append(f"| `{declared.key}` | {flag} | `{declared.default!r}` | {cell} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
