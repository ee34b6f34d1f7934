"""What README.md, CONTRIBUTING.md and docs/ say to type is typed: every replab command and every Python block.

In order, in a folder of its own, as a reader would; on tiny files in the data sets' real formats, and with --fast where
a run is asked for. A block that begins with `# file: NAME` is written there. What one page shows and another repeats,
word for word, is typed once: the pages share their runs. mytorch's pages have a test of their own.
"""

import importlib.util
import os
import re
import shlex
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
PAGES = [
    page
    for page in [
        ROOT / "README.md",
        ROOT / "README.zh-CN.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ]
    if page.is_file() and page.name not in ("mytorch.md", "autograd-in-ten-steps.md")
]
TRAINS = ("run", "compare", "replicate", "sweep")  # these take --fast


@pytest.fixture(scope="module")
def data_sets(tmp_path_factory):
    spec = importlib.util.spec_from_file_location("fakes", ROOT / "tests/replab/data/published_fakes.py")
    fakes = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fakes)
    root = tmp_path_factory.mktemp("data")
    fakes.write_mnist(root, train=60, test=20)
    fakes.write_mnist(root, "FashionMNIST", train=60, test=20)
    fakes.write_cifar(root, *fakes.CIFAR10)
    fakes.write_cifar(root, *fakes.CIFAR100)
    return root


@pytest.fixture(scope="module")
def typed_before():
    """What was typed so far, and the run that it made."""
    return {}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def desk(tmp_path, data_sets, shared, monkeypatch):
    """A reader's folder: some photos, a zip of them, an image."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REPLAB_DATA", str(data_sets))
    monkeypatch.setenv("REPLAB_CONFIG", str(tmp_path / "config"))
    for name in ("runs", "cache"):
        monkeypatch.setenv(f"REPLAB_{name.upper()}", str(shared / name))
    monkeypatch.syspath_prepend(str(tmp_path))
    rng = np.random.default_rng(0)
    with zipfile.ZipFile("photos.zip", "w") as archive:
        for name in ("cat", "dog"):
            Path("photos", name).mkdir(parents=True)
            for i in range(10):
                path = Path("photos", name, f"{i}.png")
                Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(path)
                archive.write(path)
    for name in ("image.png", "seven.png"):
        Image.fromarray(rng.integers(0, 256, (28, 28), dtype=np.uint8)).save(name)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def blocks(page):
    """(kind, text, line) of each fenced block."""
    text = page.read_text()
    for found in re.finditer(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield found[1], found[2], text[: found.start()].count("\n") + 1


def typed(words, capsys, monkeypatch):
    from replab.cli import main

    if words[1] in TRAINS and "--fast" not in words and "--list" not in words and "--ledger" not in words:
        words = [*words, "--fast"]
    monkeypatch.setattr(sys, "argv", words)
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    assert not code, f"{shlex.join(words)}: {err or out}"


def newest_run():
    started = Path(os.environ["REPLAB_RUNS"]).glob("*/environment.json")
    return max(started, key=lambda path: path.stat().st_mtime_ns, default=Path("none/yet")).parent.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_shown_works(page, desk, typed_before, capsys, monkeypatch):
    from replab.report import write as report

    draw = report.draw
    names: dict = {"__name__": "page"}
    run = ""  # the page's newest, which may have been made by an earlier one
    for kind, text, line in blocks(page):
        file = re.match(r"# file: (\S+)\n", text)
        if file:
            Path(file[1]).parent.mkdir(parents=True, exist_ok=True)
            Path(file[1]).write_text(text)
        elif kind == "python":
            monkeypatch.setattr(report, "draw", draw)
            makes_one = "replab.run(" in text
            if run != newest_run() and not makes_one:
                text = text.replace('"latest"', f'"{run}"')
            exec(compile("\n" * line + text, page.name, "exec"), names)
            run = newest_run() if makes_one else run
        elif kind == "sh":
            monkeypatch.setattr(report, "draw", lambda *args: [])  # each would take a second
            for command in text.splitlines():
                words = shlex.split(command, comments=True)
                if words[:1] == ["replab"]:
                    before = newest_run()
                    names_run = {"RUN": run, "latest": "latest" if run == before else run}
                    words = [names_run.get(word, word) for word in words]
                    if tuple(words) not in typed_before:
                        typed(words, capsys, monkeypatch)
                        after = newest_run()
                        typed_before[tuple(words)] = after if after != before else ""
                    run = typed_before[tuple(words)] or run
                elif words[:1] == ["make"]:
                    assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), command
                elif words[:1] == ["python"]:
                    scripts = [word for word in words if word.endswith(".py")]
                    assert all((ROOT / script).is_file() for script in scripts), command


def test_the_pages_are_there():
    assert PAGES[0].name == "README.md"
    kinds = [kind for kind, *_ in blocks(PAGES[0])]
    assert "sh" in kinds
    assert "python" in kinds


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} points to {target}"
