"""One run of a folder is hostile or damaged: the others are listed, reported and made as ever; it is named."""

import json
import os
import shutil

import pytest

DEEP = "[" * 100_000 + "]" * 100_000


def json_with(name, **changes):
    def spoil(folder):
        (folder / name).write_text(json.dumps({**json.loads((folder / name).read_text()), **changes}))

    return spoil


def text(name, content):
    return lambda folder: (folder / name).write_text(content)


def no_text(name):
    return lambda folder: (folder / name).write_bytes(b"\xff\xfe\0")


def absent(name):
    return lambda folder: (folder / name).unlink()


def fifo(name):
    def spoil(folder):
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return spoil


def device(name):
    def spoil(folder):
        (folder / name).unlink()
        (folder / name).symlink_to("/dev/zero")

    return spoil


def loop(name):
    def spoil(folder):
        (folder / name).unlink()
        (folder / name).symlink_to(folder / name)

    return spoil


def sparse(name, size=2**40):
    def spoil(folder):
        os.truncate(folder / name, size)

    return spoil


READ = ("environment.json", "recipe.toml", "chosen.toml", "input.json", "facts.json", "metrics.json")
SPOILT = {
    **{f"deep {name}": text(name, DEEP) for name in READ},
    **{f"a list in {name}": text(name, "[1, 2]") for name in READ},
    **{f"null in {name}": text(name, "null") for name in READ},
    **{f"no text in {name}": no_text(name) for name in READ},
    **{f"pipe {name}": fifo(name) for name in READ},
    **{f"device {name}": device(name) for name in READ},
    **{f"loop {name}": loop(name) for name in READ},
    **{f"giant {name}": sparse(name) for name in READ},
    **{f"no {name}": absent(name) for name in READ},
    "classes are numbers": json_with("input.json", classes=[1, 2]),
    "classes are a table": json_with("input.json", classes={"a": 1}),
    "no image": json_with("input.json", height=0),
    "giant image": json_with("input.json", height=2**40),
    "test images are text": json_with("input.json", test_images="many"),
    "data is a list": json_with("input.json", data=["a"]),
    "fingerprint is a list": json_with("input.json", fingerprint=[1]),
    "accuracy is text": json_with("metrics.json", accuracy="0.9"),
    "accuracy is a list": json_with("metrics.json", accuracy=[0.9]),
    "accuracy is giant": json_with("metrics.json", accuracy=10**400),
    "accuracy is no number": json_with("metrics.json", accuracy=float("nan")),
    "parameters are text": json_with("facts.json", parameters="9"),
    "threads are text": json_with("environment.json", threads="9"),
    "packages are a list": json_with("environment.json", packages=[]),
    "giant integer": text("metrics.json", '{"accuracy": ' + "9" * 5000 + "}"),
    "deep TOML": text("chosen.toml", "a = " + DEEP),
    "giant TOML": text("chosen.toml", "epochs = " + "9" * 4000),
    "negative epochs": text("chosen.toml", "epochs = -1\nlr = 0.1\n"),
    "manifest pipe": fifo("manifest.jsonl"),
    "manifest device": device("manifest.jsonl"),
    "manifest loop": loop("manifest.jsonl"),
    "events pipe": fifo("events.jsonl"),
    "times of other types": text("events.jsonl", '{"event": "epoch", "seconds": 1, "times": {"train_seconds": "a"}}\n'),
    "endless seconds": text("events.jsonl", '{"event": "stage", "stage": "train", "seconds": 1e999}\n'),
    "events stage": text("events.jsonl", '{"event": "stage", "stage": ["a"], "seconds": 1}\n'),
    "predictions pipe": fifo("predictions.npz"),
    "no predictions": absent("predictions.npz"),
    "empty predictions": text("predictions.npz", ""),
    "everything gone": lambda folder: (shutil.rmtree(folder), folder.mkdir()),
}  # fmt: skip


@pytest.fixture(scope="module")
def bad_folders(finished_run, tmp_path_factory):
    """One good run, and a bad one of each kind beside it, without the manifest that would give it away."""
    runs = tmp_path_factory.mktemp("hostile")
    shutil.copytree(finished_run.folder, runs / finished_run.id)
    for number, (name, spoil) in enumerate(SPOILT.items()):
        folder = runs / f"20200101-000000-bad-{number:03d}"
        shutil.copytree(finished_run.folder, folder)
        if "manifest" not in name:
            (folder / "manifest.jsonl").unlink()
        spoil(folder)
    return runs


@pytest.fixture
def good(finished_run):
    return finished_run.id


def test_the_leaderboard_leaves_them_out_and_names_them(bad_folders, good, replab):
    code, out, err = replab("leaderboard", "--runs", bad_folders)
    assert code == 0
    assert good in out
    assert "Traceback" not in err
    named = {line.split("run ")[1].split(":")[0].split()[0] for line in err.splitlines() if line.startswith("left out")}
    for number, name in enumerate(SPOILT):
        read = name.split()[-1] in ("facts.json", "metrics.json", "input.json", "chosen.toml") or "are" in name.split()
        if read and not name.startswith(("no ", "pipe", "device", "loop", "threads", "packages")):
            assert f"20200101-000000-bad-{number:03d}" in named, name


def test_runs_lists_them_all(bad_folders, good, replab):
    code, out, _ = replab("runs", "--runs", bad_folders)
    assert code == 0
    assert good in out
    assert "damaged" in out


@pytest.mark.parametrize("number", range(len(SPOILT)), ids=SPOILT)
def test_each_is_refused_in_one_line_or_read(bad_folders, replab, number, tmp_path):
    """audit and verify of the bad one itself: an answer or one line, never a traceback or a hang."""
    name = f"20200101-000000-bad-{number:03d}"
    (tmp_path / name).symlink_to(bad_folders / name)
    for command in ("audit", "verify"):
        code, _, err = replab(command, name, "--runs", tmp_path)
        assert code in (0, 1, 2), err
        assert "Traceback" not in err
        assert code != 2 or err.count("\n") == 1


def test_the_good_one_is_reported_audited_and_compared(bad_folders, good, replab):
    assert replab("audit", good, "--runs", bad_folders)[0] == 0
    assert replab("verify", good, "--runs", bad_folders)[0] == 0
    assert replab("audit", "latest", "--runs", bad_folders)[0] == 0


def test_a_new_run_is_made_beside_them(bad_folders, replab, monkeypatch):
    from replab.report import write as report

    monkeypatch.setattr(report, "draw", lambda *args: [])
    before = set(os.listdir(bad_folders))
    words = ("run", "mlp", "--limit", 60, "--lr", 0.01, "--epochs", 1, "--runs", bad_folders)
    monkeypatch.setenv("REPLAB_RUNS", str(bad_folders))
    code, out, err = replab(*words)
    assert code == 0, err
    assert "next: replab" in out
    (new,) = set(os.listdir(bad_folders)) - before
    shutil.rmtree(bad_folders / new)


def test_the_page_lists_them(bad_folders, good):
    from replab.web.listing import Listing

    rows = {row["run"]: row for row in Listing(bad_folders).rows()}
    assert rows[good]["state"] == "finished"
    assert sum(row["state"] == "damaged" for row in rows.values()) > 20


def test_a_link_in_a_run_leads_nowhere(a_run, tmp_path, replab):
    """A stranger's folder cannot have a report, the journal or the manifest written elsewhere."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "profile").write_text("precious")
    shutil.rmtree(a_run.folder / "figures")
    (a_run.folder / "figures").symlink_to(mine)
    code, _, err = replab("report", a_run.id, "--runs", tmp_path / "runs")
    assert (code, os.listdir(mine)) == (2, ["profile"]), err
    (a_run.folder / "figures").unlink()
    for name in ("events.jsonl", "manifest.jsonl"):
        (a_run.folder / name).unlink()
        (a_run.folder / name).symlink_to(mine / "profile")
        (a_run.folder / "metrics.json").unlink(missing_ok=True)
        replab("resume", a_run.id, "--runs", tmp_path / "runs", "--quiet")
        assert (mine / "profile").read_text() == "precious"
