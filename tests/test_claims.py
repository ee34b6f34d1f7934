"""A measured number in README, CONTRIBUTING or docs/ has the command that prints it beside it.

Beside it is in the same paragraph or table of a section, or in the one before or after it.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("README*.md")), ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

FENCED = re.compile(r"^```.*?^```[^\n]*\n", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`[^`]+`")
QUANTITY = re.compile(
    r"(?<![\w.,/-])\d[\d,]*(?:\.\d+)?\s?(?:%|points?\b|times\b|(?:ms|s|seconds|minutes|hours)\b|(?:[KMG]i?B)\b)"
)
CELL = re.compile(r"(?<=\|)\s*[*~<]*-?\d[\d,]*\.\d+[^|]*(?=\|)")  # of a table: a number without a unit
COMMAND = re.compile(r"\b(replab [a-z]|make [a-z]|python (-m )?[\w/]|benchmarks/\w+\.py|tools/\w+\.py|tests/\w+)")
LEVELS = {"95 %", "5 %", "80 %", "100 %"}  # of intervals and tests: no measurements
RULES = {  # numbers that are rules of the program or quoted, not measurements: page → what they begin with
    "page.md": ("1,000 points", "2.6 MB", "16 MB"),
    "packs.md": ("1 point", "50 %", "99 %"),
}


def sections(text: str):
    """(heading, its paragraphs, tables and blocks of commands) of each part between two headings."""
    blocks: list[str] = []
    whole = FENCED.sub(lambda block: f"\n\n\0{blocks.append(block[0]) or len(blocks) - 1}\n\n", text)
    heading, lines = "its beginning", []
    for line in [*whole.splitlines(), "# the end"]:
        if line.startswith("#"):
            parts = [part.strip() for part in re.split(r"\n\s*\n", "\n".join(lines)) if part.strip()]
            yield heading, [blocks[int(part[1:])] if part[0] == "\0" else part for part in parts]
            heading, lines = line.lstrip("# "), []
        else:
            lines.append(line)


def measured(part: str, rules: tuple[str, ...] = ()) -> list[str]:
    """The quantities of a paragraph or table, without those of intervals, rules and code."""
    prose = INLINE.sub("", FENCED.sub("", part))
    found = [match[0].strip() for kind in (QUANTITY, CELL) for match in kind.finditer(prose)]
    return [number for number in found if number not in LEVELS and not number.startswith(rules)]


def alone(text: str, rules: tuple[str, ...] = ()) -> list[tuple[str, list[str]]]:
    """(section, quantities) of each part that has no command beside it."""
    return [
        (heading, numbers)
        for heading, parts in sections(text)
        for i, part in enumerate(parts)
        if (numbers := measured(part, rules)) and not any(COMMAND.search(near) for near in parts[max(0, i - 1) : i + 2])
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_measured_number_has_its_command_beside_it(page):
    assert alone(page.read_text(), RULES.get(page.name, ())) == []


def test_the_rule_finds_numbers_and_commands():
    said = "It takes 3.1 s, at 97.2 %.\n\n"
    assert alone(f"# A\n{said}") == [("A", ["3.1 s", "97.2 %"])]
    assert alone(f"# A\n{said}# B\n`make bench`\n") == [("A", ["3.1 s", "97.2 %"])]
    assert alone(f"# A\n{said}Words.\n\n```sh\nreplab run cnn\n```\n") == [("A", ["3.1 s", "97.2 %"])]
    assert alone(f"# A\n{said}```sh\nreplab run cnn\n```\n") == []
    assert alone("# A\nIt takes 3.1 s (`make bench`), with a 95 % interval of `2 s`.\n") == []
