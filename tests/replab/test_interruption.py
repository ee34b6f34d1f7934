"""SIGTERM, SIGHUP and SIGUSR1: the step is finished, an epoch resumes in its middle, and the end is the same bits."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch

from replab import api, interruption, pipeline
from replab.errors import RecipeError
from replab.records.events import Events
from replab.records.record import Record
from replab.report import write as report
from replab.training import state

SETTINGS = {"limit": 160, "batch_size": 16, "epochs": 3, "lr": 0.01, "augment": ("flip", "crop=1")}
ENDS = ("epochs.jsonl", "model.safetensors")
CASES = {
    "dropout and BatchNorm": ("cnn", {"schedule": "one-cycle", "optimizer": "adamw"}),
    "two optimizers": ("dcgan", {}),
    "noise": ("vae", {"augment": ()}),
    "averaged weights": ("mlp", {"average": "ema"}),
    "looking ahead": ("mlp", {"average": "lookahead"}),
    "mytorch": ("mlp", {"backend": "mytorch"}),
}


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """The training alone."""
    monkeypatch.setattr(report, "write", lambda record: None)
    monkeypatch.setattr(pipeline, "evaluate_trained", lambda record, *args: record.write_json("metrics.json", {}))
    yield
    interruption.forget()


def ends(run):
    return {name: (run.folder / name).read_bytes() for name in ENDS}


class AtStep:
    """Asks to end during the n-th step of the training, as a signal does."""

    def __init__(self, step):
        self.left = step

    def hear(self, event):
        if event.kind == "step" and event.facts["what"] == "epoch":
            self.left -= 1
            if not self.left:
                interruption._received.append("SIGTERM")


@pytest.mark.parametrize("name", CASES)
def test_an_epoch_that_is_resumed_in_its_middle_ends_with_the_same_bits(name, tmp_path):
    model, more = CASES[name]
    settings = {**SETTINGS, **more, "runs": tmp_path, "params": {"widths": [16]} if model == "mlp" else {}}
    whole = api.run(model, events=Events(), **settings)
    for step in (1, 13):  # in the first epoch, before any row, and in the second
        with pytest.raises(interruption.Terminated):
            api.run(model, events=Events(AtStep(step)), **settings)
        interruption.forget()
        folder = max(tmp_path.iterdir(), key=lambda f: f.stat().st_mtime_ns)
        saved, rows = Record(folder).checkpoint(lambda path: torch.load(path, weights_only=True))
        assert (len(rows), len(saved["within"]["sizes"])) == (step // 10, (step + 1) % 10)  # the step under way is done
        assert ends(api.resume(folder, events=Events())) == ends(whole)


def test_a_checkpoint_every_so_often(tmp_path, monkeypatch):
    """A clock on which each step takes a minute."""
    kept, clock = [], iter(range(0, 10**6, 60))
    monkeypatch.setattr(state, "perf_counter", lambda: next(clock))
    real = Record.write_checkpoint

    def write(self, values, rows, save):
        kept.append((len(rows), len(values.get("within", {}).get("sizes", ()))))
        real(self, values, rows, save)

    monkeypatch.setattr(Record, "write_checkpoint", write)
    api.run("mlp", events=Events(), runs=tmp_path, checkpoint_every="4m", **{**SETTINGS, "epochs": 1})
    assert kept == [(0, 5), (0, 10), (1, 0)]


def test_a_time_that_is_none():
    for text in ("soon", "0", "-1"):
        with pytest.raises(RecipeError):
            api.run("mlp", checkpoint_every=text)


def test_a_full_disk_at_the_end_falls_back_to_the_last_checkpoint(tmp_path, monkeypatch):
    from replab.errors import FileError

    real = Record.write_checkpoint

    def write(self, values, rows, save):
        if "within" in values:
            raise FileError("full")
        real(self, values, rows, save)

    monkeypatch.setattr(Record, "write_checkpoint", write)
    with pytest.raises(interruption.Terminated):
        api.run("mlp", events=Events(AtStep(13)), runs=tmp_path, **SETTINGS)
    saved, rows = Record(next(tmp_path.iterdir())).checkpoint(lambda path: torch.load(path, weights_only=True))
    assert len(rows) == 1
    assert "within" not in saved


def command(*words):
    """Hears SIGHUP also where the tests were started with nohup, which is ignored by whoever is started below it."""
    return subprocess.Popen(
        [sys.executable, "-m", "replab", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )  # fmt: skip


def lines_of(process):
    found: list[str] = []

    def read():
        for line in process.stdout:
            found.append(line)

    reader = threading.Thread(target=read)
    reader.start()
    return found, reader


@pytest.mark.parametrize(("name", "at"), [("SIGTERM", "epoch 1/"), ("SIGHUP", "run folder"), ("SIGUSR1", "cost")])
def test_the_command_ends_with_143_and_says_how_to_go_on(tmp_path, name, at):
    words = ("run", "mlp", "--limit", 60, "--batch-size", 2, "--epochs", 400, "--runs", tmp_path, "--trials", 2)
    process = command(*words, "--workers", 1, *(("--lr", 0.01) if at.startswith("epoch") else ()))
    said, reader = lines_of(process)
    while process.poll() is None and not any(line.startswith(at) for line in said):
        time.sleep(0.02)
    process.send_signal(getattr(signal, name))
    code = process.wait()
    reader.join()
    folder = next(tmp_path.iterdir(), None)
    assert code == 143, said
    how = f"; replab resume {folder} continues it" if folder else ""  # before there is a folder, nothing is to resume
    assert said[-1] == f"replab: ended by {name}{how}\n"
    assert not any("Traceback" in line for line in said)
    if at.startswith("epoch"):
        assert (folder / "checkpoint.pt").is_file()


def test_workers_end_too(tmp_path):
    words = ("run", "mlp", "--limit", 60, "--batch-size", 8, "--runs", tmp_path, "--trials", 40)
    process = command(*words, "--workers", 2)
    said, reader = lines_of(process)
    while process.poll() is None and not any(line.startswith("trial 1/") for line in said):
        time.sleep(0.02)
    children = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_child(pid, process.pid)]
    assert len(children) == 2
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 143
    reader.join()
    deadline = time.time() + 20
    while any(os.path.exists(f"/proc/{pid}") for pid in children) and time.time() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in children if os.path.exists(f"/proc/{pid}")]


def is_child(pid, parent):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1]) == parent
    except OSError:
        return False


def test_a_signal_that_is_ignored_stays_so():
    ends, before = signal.getsignal(signal.SIGTERM), signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with interruption.listening():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    signal.signal(signal.SIGHUP, before)
    assert signal.getsignal(signal.SIGTERM) is ends


def test_a_signal_is_noted_and_heeded_where_one_may_end():
    """A handler that raised would be swallowed where Python calls a destructor or a callback of a weak reference."""

    class Destroyed:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    with interruption.listening():
        _ = Destroyed()
        del _
        with interruption.in_steps():
            interruption.heed()  # the step is not done
            with pytest.raises(interruption.Terminated):
                interruption.heed(after_step=True)
        with pytest.raises(interruption.Terminated):
            list(Events().each(range(3), "images", 3))
        assert interruption.received() == "SIGTERM"


@pytest.mark.parametrize("signals", [1, 2])
def test_who_never_asks_is_ended_all_the_same(signals, capfd):
    """By the alarm after the grace time, or by a second signal at once; in a process of its own, forked."""
    child = os.fork()
    if not child:
        interruption.GRACE = 0.05 if signals == 1 else 60
        with interruption.listening(lambda: "; these are the last words"):
            for _ in range(signals):
                signal.raise_signal(signal.SIGTERM)
            time.sleep(20)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 143
    assert "replab: ended by SIGTERM; these are the last words\n" in capfd.readouterr().err
