"""Small runs of every kind, each with what it must end with, whatever happened on the way."""

import json
import os
import sys

SEARCH = {"trials": 2, "max_epochs": 2, "fraction": 1.0, "min_validation": 20, "batch": 2}
SMALL = {"limit": 60, "batch_size": 16, "params": {"widths": [8]}}
ENDS = ("study.jsonl", "epochs.jsonl", "chosen.toml", "metrics.json", "model.safetensors")

SCENARIOS = {
    "search and train": {"model": "mlp", **SMALL, "epochs": 2, "search": SEARCH, "workers": 1},
    "vae": {"model": "vae", "limit": 60, "batch_size": 32, "lr": 0.001, "epochs": 2},
    "gan": {"model": "dcgan", "limit": 40, "batch_size": 20, "lr": 0.001, "epochs": 2},
    "frozen backbone": {"model": "cnn", "limit": 60, "freeze": True, "epochs": 2, "lr": 0.01},
    "worker process": {"model": "mlp", **SMALL, "epochs": 2, "search": SEARCH, "workers": 2},
    "replicate": {},  # of a published row: see start()
}
PACK = """
[source]
title = "A row to measure"
[[row]]
id = "tiny/mlp"
recipe = {model = "mlp", data = "digits", limit = 60, lr = 0.01, epochs = 2, batch_size = 16}
figures = [{measure = "test_accuracy", published = 50.0}]
"""
# their evaluation takes longer than all the rest, and none of it is about files
LONG = ("vae", "gan")


def folders(place):
    """Where it writes: the run and the caches."""
    return [place / name for name in ("runs", "cache", "results")]


def settle(place, name=""):
    """Everything of a process below one folder, and no pictures."""
    os.environ |= {"REPLAB_CACHE": str(place / "cache"), "REPLAB_CONFIG": str(place / "config")}
    for folder in folders(place):
        folder.mkdir(parents=True, exist_ok=True)
    from replab.report import write as report

    report.draw = lambda *args: []
    if name in LONG:
        from replab import pipeline

        pipeline.evaluate_trained = lambda record, *args: record.write_json("metrics.json", {})
        report.write = lambda record: None


def run(name, place):
    """Start it, or go on with what is there."""
    from replab import api
    from replab.records.events import Events

    if name == "replicate":
        return replicate(place)
    begun = folder_of(place)
    settings = dict(SCENARIOS[name])
    if begun is None:
        return api.run(**settings, runs=place / "runs", events=Events())
    return api.resume(begun, events=Events(), workers=settings.get("workers", 1))


def replicate(place):
    from replab.records.events import Events
    from replab.replication import packs
    from replab.replication import replicate as replicating

    known = packs.parse({"tiny": PACK})
    jobs = replicating.plan(list(known.rows.values()))
    return replicating.replicate(jobs, known, runs=place / "runs", results=place / "results", events=Events())


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


def carry_out(name, place, fault="", at=0, report=""):
    """In a process of its own: the run with a fault. Exit code 0: finished; 2: refused in one line; 3: a traceback."""
    import traceback

    settle(place, name)
    import torch
    from injector import Injector

    from replab.errors import ReplabError

    torch.set_num_threads(1)
    injector = Injector(folders(place), fault, at).install()
    code, said = 0, ""
    try:
        run(name, place)
    except ReplabError as error:
        code, said = 2, str(error)
        if "\n" in said:
            code = 3
    except BaseException:
        code, said = 3, traceback.format_exc()
    if report:
        facts = {"count": injector.count, "by_kind": injector.by_kind, "hit": injector.hit, "said": said}
        fd = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(fd, json.dumps(facts).encode())
        os.close(fd)
    sys.stdout.flush()
    os._exit(code)
