"""replab verify: what is whole, what is damaged, what can still be done."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replab import api
from replab.errors import RunError
from replab.records.verify import verify
from replab.report import write as report

FIXTURES = Path(__file__).parents[1] / "fixtures" / "runs-0.1.0"


def test_a_whole_run(a_run, replab):
    code, out, err = replab("verify", a_run.folder)
    assert (code, err) == (0, "")
    count = sum(path.is_file() for path in a_run.folder.rglob("*")) - 2  # the lock and the manifest itself
    assert out == f"run {a_run.id}: {count} files are whole, none damaged or missing\n"


def test_every_file_of_a_run_is_in_its_manifest(a_run):
    assert verify(a_run.record).unlisted == ()
    assert any(name.startswith("figures/") for name in verify(a_run.record).whole)


@pytest.mark.parametrize("damage", ["a flipped bit", "cut", "missing"])
def test_every_file_that_is_damaged_is_named_with_a_remedy(a_run, damage):
    for name in verify(a_run.record).whole:
        path = a_run.record.path(name)
        whole = path.read_bytes()
        middle = len(whole) // 2
        if damage == "missing":
            path.unlink()
        else:
            path.write_bytes(whole[:middle] + (bytes([whole[middle] ^ 4]) + whole[middle + 1 :]) * (damage != "cut"))
        (problem,) = verify(a_run.record).problems
        assert problem.name == name
        assert problem.remedy
        path.write_bytes(whole)
    assert verify(a_run.record).problems == ()


def test_what_is_said_of_damage(a_run, replab):
    path = a_run.record.path("model.safetensors")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    code, out, _ = replab("verify", a_run.folder)
    assert code == 1
    assert out.splitlines()[1:] == [
        "! model.safetensors: it is not what was written (SHA-256);"
        f" remove it, and replab resume {a_run.id} trains it again, to the same weights",
        "still possible: read in the leaderboard, report, resume",
    ]
    with pytest.raises(RunError, match=r"model.safetensors is damaged"):
        a_run.model()


REMOVED = [
    ("model.safetensors", []),
    ("epochs.jsonl", ["model.safetensors"]),
    ("predictions.npz", ["metrics.json"]),
    ("metrics.json", []),
    ("facts.json", ["metrics.json"]),
    ("report.md", []),
]


@pytest.mark.parametrize(("name", "too"), REMOVED)
def test_the_remedies_are_true(a_run, name, too, monkeypatch):
    """What verify says brings a file back does, to the same content."""
    monkeypatch.setattr(report, "draw", lambda *args: [])
    record = a_run.record
    kept = ("model.safetensors", "epochs.jsonl", "metrics.json", "predictions.npz")
    before = {file: record.read_bytes(file) for file in kept}
    record.path(name).write_bytes(b"damaged")
    (problem,) = verify(record).problems
    assert set(too) == {file for file in (*kept, "facts.json") if file in problem.remedy}
    for file in (name, *too):
        record.path(file).unlink()
    if "report" in problem.remedy:
        report.write(record)
    else:
        api.resume(a_run.folder)
    assert verify(record).problems == ()
    assert {file: record.read_bytes(file) for file in before} == before


def test_a_manifest_that_is_damaged_itself(a_run, replab):
    path = a_run.record.path("manifest.jsonl")
    path.write_bytes(b"noise\n" + path.read_bytes())
    code, out, _ = replab("verify", a_run.folder)
    assert code == 1
    assert "! manifest.jsonl: line 1 is damaged" in out


@pytest.mark.parametrize("name", ["interrupted", "scheduled", "searched"])
def test_runs_of_replab_0_1(name, tmp_path, replab):
    shutil.copytree(FIXTURES / name, tmp_path / name)
    code, out, _ = replab("verify", tmp_path / name)
    assert code == 0
    assert "there is no manifest" in out
    rows = tmp_path / name / "epochs.jsonl"
    lines = rows.read_text().splitlines()
    rows.write_text("\n".join([lines[0], *lines[2:], '{"epoch": 9}']) + "\n")
    code, out, _ = replab("verify", tmp_path / name)
    assert code == 1
    assert "! epochs.jsonl: its rows are of epochs [1" in out


def test_it_needs_no_torch_and_refuses_what_is_no_run(a_run, tmp_path, refuses):
    code = (
        "import sys; sys.argv = ['replab', 'verify', sys.argv[1]]\nfrom replab.cli import main\ntry: main()\n"
        "finally: print({'torch', 'optuna'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code, a_run.folder], capture_output=True, text=True)
    assert done.stdout.endswith("none damaged or missing\nset()\n"), done
    assert "is not a run" in refuses("verify", tmp_path)
