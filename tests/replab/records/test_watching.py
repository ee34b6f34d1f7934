"""Who shows a run: lines by level, a notebook's table that is rewritten in place."""

import sys
import types

import pytest

from replab.records.events import Events
from replab.records.terminal import Bars, Lines, watchers
from replab.records.watching.notebook import ROWS, LiveTable
from replab.records.watching.numbers import headline

ROW = {"train_loss": 0.5, "test_loss": 0.25, "test_accuracy": 0.9}


def a_run(events):
    events.tell("cost", text="cost: little")
    events.message("note: think twice")
    with events.span("search", 1):
        events.inside(trial=0).tell("epoch", epoch=1, total=1, row={"val_loss": 0.75})
        events.tell("trial", number=0, total=1, state="complete", value=0.75, params={"lr": 0.1}, seconds=1.0)
    with events.span("train", 12):
        for epoch in range(1, 13):
            events.tell("epoch", epoch=epoch, total=12, row=ROW, seconds=1.0)
    events.tell("stage", stage="evaluate", seconds=0.5)


@pytest.mark.parametrize(
    ("level", "lines", "begins"),
    [("warning", 1, "note: think twice"), ("info", 15, "cost: little"), ("debug", 17, "[     0.0s] cost: little")],
)
def test_levels(capsys, level, lines, begins):
    a_run(Events(Lines(level)))
    out = capsys.readouterr().out.splitlines()
    assert len(out) == lines
    assert out[0].startswith(begins)


def test_who_watches(monkeypatch):
    assert watchers(quiet=True) == watchers(level="error") == []
    assert isinstance(watchers()[0], Lines)  # no terminal here
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert isinstance(watchers()[0], Bars)
    assert isinstance(watchers(level="debug")[0], Lines)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    assert isinstance(watchers()[0], LiveTable)


def test_headlines_of_tasks_without_accuracy():
    assert headline({"train_loss": 1.0, "test_loss": 2.0}, 80) == "loss 2"
    assert headline({"critic_loss": 1.0, "generator_loss": 2.0}, 80) == "critic loss 1, generator loss 2"
    assert headline(ROW, 120) == "train loss 0.5, test loss 0.25, test accuracy 90.00 %"


def test_a_notebook_shows_one_table_and_no_bars(monkeypatch):
    pictures = []
    display = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda html, display_id: pictures.append(html) or types.SimpleNamespace(update=pictures.append)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    a_run(Events(LiveTable()))
    last = pictures[-1]
    assert "<div>cost: little</div>" in last
    assert "search: trial 1 of 1, best validation loss 0.75" in last
    assert "training: epoch 12 of 12<" in last
    assert last.count("<tr>") == ROWS + 1
    assert "<th>test accuracy</th>" in last
    assert "<td>12</td><td>0.5</td><td>0.25</td><td>0.9</td>" in last


def test_each_worker_has_a_bar_with_its_trial_and_loss(capsys):
    events = Events(bars := Bars())
    with events.span("search", 4):
        for worker, trial in ((0, 0), (1, 1)):
            events.tell("begin", what="train", total=3, done=0, worker=worker, trial=trial)
            events.tell("epoch", epoch=1, total=3, row={"val_loss": 0.5 + trial}, worker=worker, trial=trial)
        assert {worker: (bar.desc.strip(), bar.n) for worker, bar in bars.workers.items()} == {
            0: ("worker 1, trial 1", 1), 1: ("worker 2, trial 2", 1),
        }  # fmt: skip
        assert "1.5" in bars.workers[1].postfix
        events.tell("end", what="train", worker=0, trial=0)
        events.tell("begin", what="train", total=3, done=0, worker=0, trial=2)
        assert bars.workers[0].desc.startswith("worker 1, trial 3")
    assert not bars.workers  # a worker that was lost leaves no bar behind


def side_by_side(events):
    """Two runs, in the middle of a search and of a training."""
    one, two = events.inside(worker=0, job="cnn"), events.inside(worker=1, job="mlp, seed 2")
    one.tell("begin", what="search", total=4, done=1)
    one.tell("begin", what="train", total=9, done=0, trial=1)  # a trial inside a run has no bar of its own
    one.tell("epoch", epoch=1, total=9, row={"val_loss": 0.5}, trial=1)
    one.tell("trial", number=1, total=4, state="complete", value=0.5, params={}, seconds=1.0)
    two.tell("begin", what="train", total=3, done=0)
    two.tell("epoch", epoch=1, total=3, row={"train_loss": 0.25, "test_accuracy": 0.75}, seconds=1.0)
    two.message("run folder: here")


def test_each_worker_has_a_bar_with_its_run(capsys):
    events = Events(bars := Bars())
    with events.span("runs", 4):
        side_by_side(events)
        assert {worker: (bar.desc.strip(), bar.n) for worker, bar in bars.workers.items()} == {
            0: ("worker 1, cnn: search", 2), 1: ("worker 2, mlp, seed 2: train", 1),
        }  # fmt: skip
        assert "0.25" in bars.workers[1].postfix
        events.tell("step", what="runs")
        assert bars.bars[0][1].n == 1
    assert not bars.workers
    assert "mlp, seed 2: run folder: here" in capsys.readouterr().out


def test_lines_name_the_run_they_are_of(capsys):
    side_by_side(Events(Lines()))
    assert capsys.readouterr().out.splitlines() == [
        "cnn: trial 2/4: complete",
        "mlp, seed 2: epoch 1/3: train loss 0.25, test accuracy 0.75",
        "mlp, seed 2: run folder: here",
    ]
