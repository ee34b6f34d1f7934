"""Small runs of every kind, each with what it must end with, whatever happened on the way."""

import json
import mmap
import os
import struct
import sys
import traceback

SEARCH = {"trials": 2, "max_epochs": 2, "fraction": 1.0, "min_validation": 20, "batch": 2}
SMALL = {"limit": 60, "batch_size": 16, "params": {"widths": [8]}}
ENDS = ("study.jsonl", "epochs.jsonl", "chosen.toml", "metrics.json", "model.safetensors")

SCENARIOS = {
    "search and train": {"model": "mlp", **SMALL, "epochs": 2, "search": SEARCH, "workers": 1},
    "vae": {"model": "vae", "limit": 60, "batch_size": 32, "lr": 0.001, "epochs": 2},
    "gan": {"model": "dcgan", "limit": 40, "batch_size": 20, "lr": 0.001, "epochs": 2},
    "frozen backbone": {"model": "cnn", "limit": 60, "freeze": True, "epochs": 2, "lr": 0.01},
    "pictures": {"model": "mlp", "params": {"widths": [8]}, "epochs": 2, "lr": 0.01},  # a folder of them, decoded
    "worker process": {"model": "mlp", **SMALL, "epochs": 2, "search": SEARCH, "workers": 2},
    "replicate": {},  # of a published row: see replicate()
}
PACK = """
[source]
title = "A row to measure"
[[row]]
id = "tiny/mlp"
recipe = {model = "mlp", data = "digits", limit = 60, lr = 0.01, epochs = 2, batch_size = 16}
figures = [{measure = "test_accuracy", published = 50.0}]
"""


PICTURES = None  # a folder that all processes of a campaign share


def warm():
    """Import what a run needs. Nothing waits for the disk: what a flush is good for is the recorder's to say."""
    import optuna  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.datasets  # noqa: F401
    import torch._dynamo

    import replab.api
    import replab.report.write  # noqa: F401

    torch.set_num_threads(1)
    os.fsync = lambda handle: None


def folders(place):
    """Where it writes: the run, the caches, and what is sent to workers."""
    return [place / name for name in ("runs", "cache", "results", "temporary")]


def settle(place, name=""):
    """Everything of a process below one folder, and no pictures."""
    import tempfile

    from forked_workers import fork_workers

    from replab.report import write as report

    os.environ |= {"REPLAB_CACHE": str(place / "cache"), "REPLAB_CONFIG": str(place / "config")}
    for folder in folders(place):
        folder.mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = str(place / "temporary")
    report.draw = lambda *args: []
    if name == "pictures":
        make_pictures(PICTURES)
    if name == "worker process":
        fork_workers()


def make_pictures(folder):
    from PIL import Image

    for label in "ab":
        for number in range(10):
            path = folder / label / f"{number}.png"
            if not path.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.new("L", (8, 8), 20 * number + 5 * (label == "b")).save(path)


class Progress:
    """Counts the trials and epochs that were told of, in a file: it is read after a kill too."""

    def __init__(self, path):
        self.path = path
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT), "r+b", closefd=True) as file:
            os.truncate(path, 8)
            self.shared = mmap.mmap(file.fileno(), 8)

    def hear(self, event):
        if event.kind == "trial" or (event.kind == "epoch" and "trial" not in event.facts):
            self.shared[:] = struct.pack("<q", self.count + 1)

    @property
    def count(self):
        return struct.unpack("<q", self.shared[:])[0]


def told(place):
    path = place / "told"
    return struct.unpack("<q", path.read_bytes())[0] if path.is_file() else 0


def run(name, place, *subscribers):
    """Start it, or go on with what is there."""
    from replab import api
    from replab.records.events import Events

    if name == "replicate":
        return replicate(place, Events(*subscribers))
    begun = folder_of(place)
    settings = dict(SCENARIOS[name])
    if name == "pictures":
        settings["data"] = str(PICTURES)
    if begun is None:
        return api.run(**settings, runs=place / "runs", events=Events(*subscribers))
    return api.resume(begun, events=Events(*subscribers), workers=settings.get("workers", 1))


def replicate(place, events):
    from replab.replication import packs
    from replab.replication import replicate as replicating

    known = packs.parse({"tiny": PACK})
    jobs = replicating.plan(list(known.rows.values()))
    return replicating.replicate(jobs, known, runs=place / "runs", results=place / "results", events=events)


def folder_of(place):
    """The run that can be resumed, if it came so far."""
    runs = place / "runs"
    found = sorted(f for f in runs.iterdir() if (f / "environment.json").is_file()) if runs.is_dir() else []
    return found[0] if found else None


def ends(place):
    """What it ended with: bytes that must repeat."""
    folder = folder_of(place)
    found = {name: (folder / name).read_bytes() for name in ENDS if (folder / name).is_file()}
    left = [p.name for p in folder.iterdir() if p.name.endswith(".tmp") or p.name.startswith("checkpoint")]
    assert not left, left
    rows = place / "results" / "rows.jsonl"
    if rows.is_file():
        values = [json.loads(line)["values"] for line in rows.read_text().splitlines()]
        found["rows.jsonl"] = json.dumps(values).encode()
    return found


def carry_out(name, place, fault, at, report):
    """In a process of its own: the run with a fault.

    Exit code 0: finished; 2: refused in one line; 3: a traceback; 4: finished and damaged.
    """
    settle(place, name)
    from injector import Injector

    from replab.errors import ReplabError
    from replab.records.record import Record
    from replab.records.verify import verify

    progress = Progress(place / ("told" if fault else "told again"))
    injector = Injector(folders(place), fault, at).install()
    code, said = 0, ""
    try:
        run(name, place, progress)
        problems = [] if fault else verify(Record(folder_of(place))).problems
        code, said = (4, "; ".join(map(str, problems))) if problems else (0, "")
    except ReplabError as error:
        code, said = 2, str(error)
        if "\n" in said:
            code = 3
    except BaseException:
        code, said = 3, traceback.format_exc()
    facts = {"by_kind": injector.by_kind, "hit": injector.hit, "said": said, "told": progress.count}
    fd = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(fd, json.dumps(facts).encode())
    os.close(fd)
    sys.stdout.flush()
    os._exit(code)
