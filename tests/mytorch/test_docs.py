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


def test_what_is_called_missing_is_missing_here_and_known_to_torch():
    import torch.optim.lr_scheduler
    import torch.utils.data

    import mytorch

    section = (DOCS / "mytorch.md").read_text().partition("## Still missing")[2]
    names = re.findall(r"`(torch\.[\w.]+)`", section)
    assert len(names) > 100
    assert len(names) == len(set(names))
    wrong = {"torch has not": [], "mytorch has": []}
    for name in names:
        ours, theirs = mytorch, torch
        *path, last = name.split(".")[1:]
        for part in path:
            ours, theirs = getattr(ours, part), getattr(theirs, part)
        if not hasattr(theirs, last):
            wrong["torch has not"].append(name)
        if hasattr(ours, last):  # what is missing raises a NotImplementedError that is an AttributeError too
            wrong["mytorch has"].append(name)
    assert not any(wrong.values()), wrong
    with pytest.raises(NotImplementedError, match=r"mytorch has no 'torch\.fft'"):
        _ = mytorch.fft


def test_what_is_called_there_is_there():
    import mytorch

    section = (DOCS / "mytorch.md").read_text().partition("## What is there")[2].partition("## What is different")[0]
    layers = set(re.findall(r"\b[A-Z][A-Za-z]+\w*\b", section.partition("- **nn**: ")[2].partition("- **optim**")[0]))
    layers -= {"BatchNorm1d"}  # written as BatchNorm1d/2d
    for name in layers:
        assert hasattr(mytorch.nn, name), name
    missing = [name for name in mytorch.nn.modules.__all__ if name not in section]
    assert missing == ["BatchNorm2d"]
