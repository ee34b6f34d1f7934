"""The code blocks of mytorch's pages run, in order, as a reader would run them."""

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("autograd-in-ten-steps.md", "mytorch.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text()
    names: dict = {"__name__": "page"}
    blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    assert len(blocks) >= 4
    for block in blocks:
        line = text[: block.start()].count("\n") + 1
        code = "\n" * line + block[1]  # so that an error names the page's own line
        exec(compile(code, page, "exec"), names)


@pytest.mark.parametrize("page", PAGES)
def test_named_files_exist(page):
    text = (DOCS / page).read_text()
    root = DOCS.parent
    for path in set(re.findall(r"`((?:src|tests|examples|docs)/[\w/.-]+)`", text)):
        assert (root / path).exists(), f"{page} names {path}"


def rows():
    """heading → the names that its row of the table lists"""
    section = (DOCS / "mytorch.md").read_text().partition("<!-- names:")[2].partition("<!-- end of names -->")[0]
    found = re.findall(r"^\| `([\w.]+)` \| (\d+) of \d+ \| (.+) \|$", section, re.MULTILINE)
    return {heading: (int(count), names.split(", ")) for heading, count, names in found}


def test_the_table_of_names_is_written_from_the_code():
    sys.path.insert(0, str(DOCS.parent / "tools"))
    import mytorch_names

    import replab.backends.torchvision_cpu  # noqa: F401

    listed = rows()
    assert list(listed) == [part[0] for part in mytorch_names.PARTS]
    for heading, torch_path, own_path, kind in mytorch_names.PARTS:
        count, names = listed[heading]
        assert count == len(names)
        have, _ = mytorch_names.names(torch_path, own_path, kind)
        missing = sorted(set(names) - set(have))
        assert not missing, f"{heading}: the page lists {missing}; run python tools/mytorch_names.py"
        if heading in mytorch_names.COMPLETE:
            more = sorted(set(have) - set(names))
            assert not more, f"{heading}: the page lacks {more}; run python tools/mytorch_names.py"


def test_the_table_of_scripts_lists_those_that_are_tested():
    page = (DOCS / "mytorch.md").read_text()
    listed = set(re.findall(r"`tests/mytorch/scripts/(\w+\.py)`", page))
    tested = {path.name for path in (DOCS.parent / "tests" / "mytorch" / "scripts").glob("*.py")}
    assert listed == tested
    assert f"all {len(tested)} of {len(tested)} agree" in page


def test_every_file_in_the_chapter_on_torch_exists():
    chapter = (DOCS / "mytorch.md").read_text().partition("## How torch does it")[2]
    for row in re.findall(r"^\| (`.+?) \|", chapter, re.MULTILINE):
        folder = DOCS.parent / "src" / "mytorch"
        for name in re.findall(r"`([\w/.]+)`", row):
            assert (folder / name).exists() or any(folder.rglob(name)), name
