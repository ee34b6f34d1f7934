"""What a person sees in a terminal of 60, 80 and 120 columns: tables that drop columns, bars that stay readable."""

import re
import shutil

import pytest
from seen import raw, seen

WIDTHS = (60, 80, 120)

BARS = """
import os, sys
from replab.records.events import Events
from replab.records.terminal import Bars
events = Events(Bars())
row = {"train_loss": 0.12345, "train_accuracy": 0.97, "test_loss": 0.54321, "test_accuracy": 0.98123}
with events.span("search", 20):
    for number in range(3):
        events.tell("trial", number=number, total=20, state="complete", value=0.5, params={}, seconds=1.0)
with events.span("train", 20):
    for epoch in range(1, 13):
        events.tell("epoch", epoch=epoch, total=20, row=row)
    for _, bar in events.subscribers[0].bars:
        bar.refresh()
    sys.stderr.flush()
    os._exit(0)  # as it looks while it runs
"""


@pytest.fixture(scope="module")
def desk(finished_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    for name in ("20260102-030405-mlp-digits", "20260102-030406-mlp-digits"):
        shutil.copytree(finished_run.folder, folder / "runs" / name)
    return folder


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_leaderboard_drops_columns_and_shortens_nothing(desk, finished_run, columns):
    lines = seen(["leaderboard", "--runs", "runs"], columns, desk)
    head, *rows = lines[:3]
    accuracy = f"{100 * finished_run.metrics['accuracy']:.2f}"
    for row in rows:
        assert row.startswith("mlp    digits  ")
        assert accuracy in row
    assert head.startswith("model  data    accuracy %")
    assert ("run" in head.split(), "MACs" in head) == (columns == 120, False)
    assert ("left out to fit" in "\n".join(lines)) == (columns <= 120)
    assert "…" not in "\n".join(lines)


@pytest.mark.parametrize("columns", WIDTHS)
def test_runs_are_listed_one_per_line(desk, columns):
    lines = seen(["runs", "--runs", "runs"], columns, desk)
    assert [line.split()[0] for line in lines] == ["run", "20260102-030405-mlp-digits", "20260102-030406-mlp-digits"]
    assert all(" finished " in line for line in lines[1:])


@pytest.mark.parametrize(
    ("columns", "numbers"),
    [
        (60, "loss 0.5432, 98.12 %"),
        (80, "loss 0.5432, accuracy 98.12 %"),
        (120, "train loss 0.1235, test loss 0.5432, test accuracy 98.12 %"),
    ],
)
def test_bars_keep_loss_accuracy_and_time_left(tmp_path, columns, numbers):
    search, train = seen([], columns, tmp_path, code=BARS)[-2:]
    assert search.startswith("search |")
    assert "best loss 0.5" in search
    assert train.startswith("train |")
    assert train.count("█") + train.count(" ", train.index("|"), train.rindex("|")) >= 8
    assert "| 12/20, 00:" in train
    assert " left, " in train
    assert train.endswith(numbers)


def test_a_report_goes_on_below_itself(desk):
    lines = seen(["report", "latest", "--runs", "runs"], 60, desk)
    begins = next(i for i, line in enumerate(lines) if line.startswith("chosen by "))
    assert lines[begins + 1].startswith(" " * lines[begins].index("validation"))
    steps = lines[next(i for i, line in enumerate(lines) if line.startswith("next: replab predict ")) :]
    assert [line.split()[:2] for line in steps[1:3]] == [["replab", "leaderboard"], ["replab", "run"]]


MESSAGE = """
from replab.records.events import Events
from replab.records.terminal import Bars
text = "cost: 6.9 ms per batch of 128, 0.1s per epoch; search at most 3.3s; a/path-of/more-than-one/word"
Events(Bars()).tell("message", text=text)
"""


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_message_breaks_between_words(tmp_path, columns):
    lines = seen([], columns, tmp_path, code=MESSAGE)
    assert " ".join(line.strip() for line in lines).endswith("search at most 3.3s; a/path-of/more-than-one/word")
    assert all(line.startswith("  ") for line in lines[1:])


COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("words", [["runs"], ["leaderboard"], ["--help"], ["run", "--help"], ["run", "nosuch"]])
def test_no_color_is_obeyed(desk, words, monkeypatch):
    """In a terminal, where colours would be used; bold and underlined are no colours, and none of them is needed."""
    given = words if words[-1] in ("--help", "nosuch") else [*words, "--runs", "runs"]
    monkeypatch.setenv("NO_COLOR", "1")
    codes = {code for found in COLOUR.findall(raw(given, 80, desk)) for code in found[2:-1].split(";")}
    assert not {code for code in codes if code.isdigit() and 30 <= int(code) % 60 <= 49}


def test_without_no_color_help_has_colours(desk, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert COLOUR.search(raw(["run", "--help"], 80, desk))
