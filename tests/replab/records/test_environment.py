"""Where a run was made: the commit names the code, and says when the code is not the commit's."""

import subprocess

from replab.records.environment import commit


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def test_results_do_not_mark_the_commit_and_code_does(tmp_path):
    code, results = tmp_path / "src" / "replab", tmp_path / "results"
    code.mkdir(parents=True)
    results.mkdir()
    (code / "train.py").write_text("one")
    (tmp_path / "src" / "other.py").write_text("one")
    (results / "rows.jsonl").write_text("{}")
    assert commit(code) is None
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    clean = commit(code)
    assert clean is not None
    assert len(clean) == 12
    (results / "rows.jsonl").write_text("{}{}")
    assert commit(code) == clean
    (tmp_path / "src" / "other.py").write_text("two")
    assert commit(code) == clean + "-dirty"
