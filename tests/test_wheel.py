"""A wheel holds all that a user needs: it is built, unpacked and used in an empty folder."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the wheel's content."""
    tree, target = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("installed")
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copytree(ROOT / "results", tree / "results")
    words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", tree / "dist", tree]
    subprocess.run([sys.executable, *words], check=True)
    (wheel,) = (tree / "dist").glob("replab-*.whl")
    zipfile.ZipFile(wheel).extractall(target)
    return target


def test_it_holds_every_file_of_the_packages_and_the_measured_rows(installed):
    skipped = {"__pycache__"}
    sources = {p.relative_to(ROOT / "src") for p in (ROOT / "src").glob("*/**/*") if p.is_file()}
    ours = {p for p in sources if not skipped & set(p.parts) and not p.parts[0].endswith(".egg-info")}
    there = {p.relative_to(installed) for p in installed.glob("**/*") if p.is_file()}
    assert ours <= there
    rows = "replab/replication/rows.jsonl"
    assert (installed / rows).read_bytes() == (ROOT / "results/rows.jsonl").read_bytes()


def test_it_lists_rows_models_and_data_in_an_empty_folder(installed, tmp_path):
    code = """
import sys
import replab
from replab.cli import main
print(replab.__file__)
for words in (["replicate", "--list"], ["models"], ["datasets"]):
    sys.argv = ["replab", *words]
    try:
        main()
    except SystemExit as end:
        assert not end.code, words
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    where, out = done.stdout.split("\n", 1)
    assert where.startswith(str(installed))
    assert "lab9/resnet9" in out
    assert "holds" in out  # verdicts of the measured rows
    assert "patch-lstm" in out
    assert "digits" in out
    assert list(tmp_path.iterdir()) == []
