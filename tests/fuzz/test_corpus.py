"""Files that once broke a reader, and a few new mutations of each kind; `make fuzz` tries many more."""

from pathlib import Path

import pytest
from fuzzing import case, one
from targets import TARGETS

CORPUS = sorted(path for path in (Path(__file__).parent / "corpus").rglob("*") if path.is_file())


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    for what in ("CACHE", "CONFIG", "DATA", "RUNS"):
        monkeypatch.setenv(f"REPLAB_{what}", str(tmp_path / what.lower()))


@pytest.mark.parametrize("path", CORPUS, ids=[f"{path.parent.name}/{path.name}" for path in CORPUS])
def test_a_file_that_once_broke_a_reader(path, tmp_path):
    assert one(TARGETS[path.parent.name](tmp_path), path.read_bytes(), tmp_path) == ""


@pytest.mark.parametrize("name", TARGETS)
def test_whole_files_are_read_and_a_few_mutations_answered_or_refused(name, tmp_path):
    target = TARGETS[name](tmp_path)
    seeds = list(target.seeds())
    for number in range(15):
        assert one(target, case(seeds, target, number), tmp_path) == "", f"{name} {number}"
    assert not (tmp_path / "run").exists()
