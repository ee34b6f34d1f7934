"""Rows that can be checked: first epochs again, staleness, curves, the first epochs of a printed schedule."""

from __future__ import annotations

import dataclasses
import json

import pytest
from listening import Lines
from published_tiny import load

from replab.errors import RecipeError
from replab.records.events import Events
from replab.replication import ledger, ledger_text, power, results
from replab.replication import replicate as replication
from replab.replication.check import check, compare
from replab.replication.entry import NUMERICS, SEARCH, Entry, identity
from replab.replication.packs import published
from replab.report import write as report
from replab.training import prepare as setup

KNOWN = published()
MLP4 = KNOWN.rows["lab9/mlp4"]


@pytest.fixture(autouse=True, scope="module")
def tiny():
    patch = pytest.MonkeyPatch()
    patch.setattr(setup, "load", load)
    patch.setattr("replab.data.source.check_reachable", lambda name: None)
    patch.setattr("replab.data.source.check", lambda name: None)
    patch.setattr(report, "draw", lambda *args: [])
    yield
    patch.undo()


@pytest.fixture(scope="module")
def folders(tiny, tmp_path_factory):
    """Two seeds of the first two epochs of a row. Read only."""
    jobs = replication.plan([MLP4], seeds=2, stop_after=2)
    assert jobs[1].command == "replab replicate lab9/mlp4 --seeds 2 --stop-after 2"
    folder = tmp_path_factory.mktemp("checked")
    folders = {"results": folder / "results", "runs": folder / "runs"}
    replication.replicate(jobs, KNOWN, events=Events(Lines()), **folders)
    return folders


@pytest.fixture(scope="module")
def two_seeds(folders):
    return results.read(folders["results"])


def test_the_first_epochs_are_judged_against_their_printed_lines(two_seeds):
    one = two_seeds[0]
    assert (one.epochs, one.stopped_of, one.numerics) == (2, 20, NUMERICS)
    assert {len(values) for values in one.curve.values()} == {2}
    assert one.flops > 0
    lines = {line["figure"]: line for line in ledger.lines(KNOWN, two_seeds) if line["id"] == MLP4.id}
    loss = lines["training loss"]
    assert (loss["published"], loss["epochs"], loss["n"]) == (1.6077, "first 2 of 20", 2)  # the second printed line
    assert loss["note"] == "as printed after epoch 2"
    assert loss["verdict"] in ("holds", "compatible", "better", "short", "cannot tell")
    assert lines["test accuracy, last epoch"]["verdict"] == "not comparable"


def test_a_first_epoch_is_repeated_and_compared(two_seeds):
    assert {(c.word, c.text) for c in check(two_seeds, KNOWN.rows)} == {("same", "6 numbers, to the last digit")}
    one = two_seeds[0]
    moved = dataclasses.replace(one, curve={**one.curve, "test_loss": [one.curve["test_loss"][0] * 1.1]})
    other = dataclasses.replace(one, fingerprint="0")
    older = dataclasses.replace(one, curve=None)  # kept its accuracy alone
    nothing = dataclasses.replace(older, values={})
    words = [c.word for c in check([moved, other, older, nothing], KNOWN.rows)]
    assert words == ["differs", "differs", "same", "not checked"]


def test_how_close_is_said():
    assert compare({"a": 1.0}, {"a": 1.0, "b": 2.0}) == ("same", "1 number, to the last digit")
    assert compare({"test_loss": 2.0}, {"test_loss": 2.001})[0] == "close"
    assert compare({"test_loss": 2.0}, {"test_loss": 2.1}) == ("differs", "test loss 2 then, 2.1 now")


def test_rows_of_uncommitted_changes_or_older_numerics_are_stale(two_seeds):
    one = dataclasses.replace(two_seeds[0], commit="abc")
    assert one.stale == ""
    assert dataclasses.replace(one, commit="abc-dirty").stale == "measured with uncommitted changes"
    old = dataclasses.replace(one, numerics=None)
    assert old.stale == "measured by older numerics"
    assert dataclasses.replace(old, commit="b9f5d4853a9b").stale == ""
    line = next(line for line in ledger.lines(KNOWN, [one, old_seed(old)]) if line["n"])
    assert line["stale"] == "stale: 1 of 2 seeds measured by older numerics"
    assert line["renew"] == "replab replicate lab9/mlp4 --seeds 1 --stop-after 2 --renew"
    assert next(line for line in ledger.lines(KNOWN, [one]) if line["n"])["renew"] == ""


def old_seed(entry, seed=9):
    return dataclasses.replace(entry, seed=seed, recipe=identity(entry.recipe_of(MLP4.recipe).replace(seed=seed)))


def test_rows_of_another_recipe_are_stale_and_say_what_renews_them(two_seeds):
    one = dataclasses.replace(two_seeds[0], commit="abc", recipe="of another rate")
    line = next(line for line in ledger.lines(KNOWN, [one]) if line["n"])
    assert line["stale"] == "stale: 1 of 1 seeds measured by another recipe than the row's of today"
    gone = dataclasses.replace(one, data="cifar10-jpeg", command=one.command + " --data cifar10-jpeg")
    row = KNOWN.rows[one.id]
    assert ledger.renewal([gone]) == "replab replicate lab9/mlp4 --seeds 1 --stop-after 2 --renew"
    there = dataclasses.replace(gone, command=one.command + " --data cifar100")
    assert ledger.renewal([there]).endswith("--data cifar100 --renew")
    text = ledger_text.as_markdown(KNOWN, [one])
    assert text.rstrip().endswith("`replab replicate lab9/mlp4 --seeds 1 --stop-after 2 --renew` |")
    searched = dataclasses.replace(one, way=SEARCH, stopped_of=None)  # lab9 has no search today
    assert ledger.staleness(row, searched) == ledger.CHANGED


def test_stale_seeds_are_run_again_when_asked_for(two_seeds, tmp_path):
    where = {"results": tmp_path / "results", "runs": tmp_path / "runs"}
    for entry in (dataclasses.replace(two_seeds[0], numerics=None), dataclasses.replace(two_seeds[1], commit="abc")):
        results.append(where["results"], entry, KNOWN)
    jobs = replication.plan([MLP4], seeds=2, stop_after=2)
    kept = replication.replicate(jobs, KNOWN, events=Events(lines := Lines()), **where)
    assert len(kept.finished) == 2
    assert lines[0].endswith("rows.jsonl already, 1 of them stale: --renew runs those again")
    assert not where["runs"].exists()
    replication.replicate(jobs, KNOWN, events=Events(Lines()), renew=True, **where)
    assert len(list(where["runs"].iterdir())) == 1  # the one that was stale
    latest = results.read(where["results"])
    assert [entry.seed for entry in latest] == [3407, 3408, 3407]
    assert latest[2].numerics == NUMERICS
    assert latest[2].curve == two_seeds[0].curve


def test_identity_is_recipe_images_and_numerics(two_seeds):
    one = two_seeds[0]
    changed = [
        dataclasses.replace(one, **change) for change in ({"recipe": "x"}, {"fingerprint": "x"}, {"numerics": 0})
    ]
    assert len({entry.identity for entry in (one, *changed)}) == 4
    assert dataclasses.replace(one, minutes=9.0).identity == one.identity
    line = json.dumps({k: v for k, v in dataclasses.asdict(one).items() if k not in ("curve", "numerics", "flops")})
    assert Entry(**json.loads(line)).numerics is None  # rows of before keep loading


def test_seeds_are_planned_from_the_spread_so_far():
    values = {"train_accuracy": [38.0, 0.2]}
    made = {"id": MLP4.id, "way": "published settings", "values": values, "data": "cifar10", "epochs": 20, "lr": 0.01,
            "minutes": 3.0, "hardware": "", "commit": "a", "command": "", "recipe": ""}  # fmt: skip
    entries = [Entry(**{**made, "seed": s, "values": {"train_accuracy": [38.0 + s, 0.2]}}) for s in (-1, 0, 1)]
    (text,) = power.plan(KNOWN, entries, [MLP4], 1.0)  # spread 1: the textbook's 17
    assert text.startswith("lab9/mlp4: 17 seeds on either side show a difference of 1 with 80 % power (spread 1 over 3")
    assert "14 more here, about 3.0 minutes each: replab replicate lab9/mlp4 --seeds 17" in text
    (text,) = power.plan(KNOWN, entries[:1], [MLP4], 1.0)
    assert "the spread over seeds is not known" in text


def test_the_command_line(replab, folders):
    own = ("--results", folders["results"])
    code, out, _ = replab("replicate", "lab9/mlp4", "--check", *own)
    assert code == 0
    assert "same        lab9/mlp4 on cifar10, seed 3407" in out
    assert out.endswith("2 same\n")
    code, out, _ = replab("replicate", "lab9/mlp4", "--to-see", "5", *own)
    assert "seeds on either side" in out
    with pytest.raises(RecipeError, match="got --stop-after 3 too"):
        replication.plan([MLP4], stop_after=3, search=True)
