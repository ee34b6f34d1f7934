"""The code blocks of mytorch's pages run, in order, as a reader would run them."""

import re
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
