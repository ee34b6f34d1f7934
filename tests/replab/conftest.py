"""Folders of their own for runs and caches, a few digits, and one finished run that tests may read or copy."""

import os
import shutil
import sys

import pytest

SEARCH = {"trials": 3, "max_epochs": 2, "fraction": 1.0, "min_validation": 20}


@pytest.fixture(scope="session", autouse=True)
def own_places(tmp_path_factory):
    """Nothing of the user's is read or written."""
    patch = pytest.MonkeyPatch()
    for name in ("REPLAB_CACHE", "REPLAB_CONFIG", "REPLAB_DATA", "REPLAB_RUNS"):
        patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
    yield
    patch.undo()


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """A tiny mlp on digits, searched, trained and reported. Read only: `a_run` is a copy to spoil."""
    from replab import api

    return api.run("mlp", limit=150, params={"widths": [16]}, search=SEARCH, runs=tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def no_reports():
    """Half a second of each run, for tests that do not read them."""
    from replab.report import write as report

    patch = pytest.MonkeyPatch()
    patch.setattr(report, "write", lambda *args: None)
    yield
    patch.undo()


@pytest.fixture
def a_run(finished_run, tmp_path):
    """A copy of the finished run, in a runs folder of its own."""
    from replab import api

    shutil.copytree(finished_run.folder, tmp_path / "runs" / finished_run.id)
    return api.load_run(finished_run.id, tmp_path / "runs")


@pytest.fixture(scope="session")
def digits():
    from replab.data.load import load

    return load("digits", limit=120)


@pytest.fixture
def in_tmp(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def replab(monkeypatch, capsys):
    """The command line, in this process: replab("run", "mlp") → (exit code, stdout, stderr)."""
    from replab.cli import main

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["replab", *map(str, words)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(bool(end.code))
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def refuses(replab, tmp_path):
    """refuses("run", …) → the one line of an error: exit code 2, nothing else said, no run folder left."""

    def check(*words: object, runs=None) -> str:
        folder = tmp_path / "no-runs" if runs is None else runs
        before = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        code, out, err = replab(*words, "--runs", folder)
        assert code == 2, (code, out, err)
        assert err.count("\n") == 1, err
        assert "Traceback" not in err
        assert err.startswith("replab: ")
        after = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        assert after == before, "something was left behind"
        return err.strip()

    return check
