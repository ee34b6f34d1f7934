"""Many small runs in one folder, by four processes at a time that are killed, terminated and run out of disk.

    python tests/faults/soak.py [--runs 200] [--minutes 30]         (make soak)

At the end every run is finished, verified and in the leaderboard with its own numbers, runs of one seed have ended with
the same bytes, and nothing is left over: no temporary files, no checkpoints, no folders that are no runs, no processes,
no shared memory. Memory: one process makes 30 runs, one after another, and reads all runs ten times; what it holds
after each is printed, and it may not grow by more than a tenth of a MiB per run once it is warm.
"""

import argparse
import contextlib
import gc
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import scenarios
from all_faults import forked
from injector import Injector

SETTINGS = {
    "model": "mlp", "limit": 60, "batch_size": 16, "params": {"widths": [8]}, "epochs": 3, "workers": 1,
    "search": {"trials": 2, "max_epochs": 2, "fraction": 1.0, "min_validation": 20, "batch": 2},
}  # fmt: skip
SEEDS = 20  # different ones: runs of one seed must end alike
SIDE_BY_SIDE = 4
ENDED = 143  # by SIGTERM
LEAK = 0.1  # MiB per run


class Mapped:
    """Writes down which folder a run got, as the command line prints it."""

    def __init__(self, path):
        self.path = path

    def hear(self, event):
        if event.kind == "run":
            self.path.write_text(event.facts["folder"])


def attempt(place, number, full_at):
    """In a process of its own: begin run `number`, or go on with it."""
    from replab import api, interruption
    from replab.errors import ReplabError
    from replab.records.events import Events

    if full_at:
        Injector([place / "runs"], "ENOSPC", full_at, lasting=True).install()
    known = place / f"{number}.txt"
    try:
        with interruption.listening():
            events = Events(Mapped(known))
            if known.is_file() and (Path(known.read_text()) / "environment.json").is_file():
                api.resume(known.read_text(), events=events, workers=1)
            else:
                api.run(**SETTINGS, seed=number % SEEDS, runs=place / "runs", events=events)
    except ReplabError as error:
        os._exit(2 if "\n" not in str(error) else 3)
    except interruption.Terminated:
        os._exit(ENDED)
    os._exit(0)


def drive(place, number, until, seconds):
    """One run, however often it is interrupted; → what happened how often."""
    rng, counts = random.Random(number), Counter()
    for tries in range(50):
        calm = tries > 6 or time.monotonic() > until
        what = "calm" if calm else rng.choice(("kill", "terminate", "full disk", "calm"))
        child = forked(attempt, place, number, rng.randrange(1, 160) if what == "full disk" else 0)
        if what in ("kill", "terminate"):
            time.sleep(rng.uniform(0, 1.3 * seconds))
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL if what == "kill" else signal.SIGTERM)
        code, waited = None, 0.0
        while code is None:
            ended, status = os.waitpid(child, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if ended else None
            time.sleep(0.01)
            waited += 0.01
            if waited > 200 and not ended:
                os.kill(child, signal.SIGKILL)
                counts["hang"] += 1
        counts[f"{what}: exit {code}"] += 1
        if code == 0:
            break
    else:
        counts["never finished"] += 1
    (place / f"{number}.json").write_text(json.dumps(counts))


def begun_and_forgotten(place):
    """Finish the runs that were killed before their folder was written down, and begun anew."""
    from replab import api
    from replab.records.events import Events
    from replab.records.record import Record, sweep

    sweep(place / "runs", older=0)
    left = [record for record in Record.all(place / "runs") if not record.has("metrics.json")]
    for record in left:
        api.resume(record.folder, events=Events(), workers=1)
    return len(left)


def examined(place, runs):
    """What is wrong at the end, and how many runs there are."""
    from replab.records.record import Record
    from replab.records.verify import verify
    from replab.runs.compare import table
    from replab.runs.run import finished_runs

    faults, by_seed, accuracy = [], {}, {}
    for record in Record.all(place / "runs"):
        faults += [f"{record.id}: {problem}" for problem in verify(record).problems]
        ends = tuple((record.folder / name).read_bytes() for name in scenarios.ENDS)
        by_seed.setdefault(record.recipe().seed, set()).add(ends)
        accuracy[record.id] = record.read_json("metrics.json", {})["accuracy"]
    faults += [f"seed {seed}: {len(ends)} different ends" for seed, ends in by_seed.items() if len(ends) > 1]
    finished = finished_runs(place / "runs", faults.append)
    listed = table(finished, say=faults.append)
    if len(finished) < runs or {row["run"]: row["accuracy"] for row in listed} != accuracy:
        faults.append(f"the leaderboard has {len(listed)} runs or other numbers; {len(accuracy)} are finished")
    for one, following in pairwise(listed):  # --limit draws the images by the seed: twenty sets
        if one["data"] == following["data"] and one["accuracy"] < following["accuracy"]:
            faults.append(f"the leaderboard has {one['run']} before {following['run']}, which is better")
    known = {record.folder for record in Record.all(place / "runs")}
    for path in (place / "runs").iterdir():
        if path not in known and path.name != ".lock":
            faults.append(f"left over: {path.name}")
    for path in (place / "runs").rglob("*"):
        if path.name.endswith(".tmp") or path.name.startswith("checkpoint"):
            faults.append(f"left over: {path.relative_to(place)}")
    return faults, len(finished)


def held():
    """MiB of memory that this process holds and no file backs, counted page by page."""
    gc.collect()
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Anonymous:")).split()[1]) / 1024


def memory(place, note):
    """In a process of its own: what it holds after each of many runs, and after reading all of them many times."""
    from replab import api
    from replab.records.events import Events

    made, read = [], []
    for number in range(30):
        api.run(**SETTINGS, seed=number % SEEDS, runs=place / "more", events=Events())
        made.append(held())
    for _ in range(10):
        examined(place, 0)
        read.append(held())
    note.write_text(json.dumps({"made": made, "read": read}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=30, help="after this many nothing is killed any more")
    asked = parser.parse_args()
    scenarios.warm()
    shared, begun, counts = set(os.listdir("/dev/shm")), time.monotonic(), Counter()
    with tempfile.TemporaryDirectory(prefix="replab-soak-") as top:
        place = Path(top)
        scenarios.settle(place)
        for _ in range(2):  # in this process, which is then warm: the others are forked from it
            started = time.monotonic()
            scenarios.run("search and train", place)
            seconds = time.monotonic() - started
            shutil.rmtree(place / "runs")
        scenarios.settle(place)
        waiting, running, until = list(range(asked.runs)), 0, begun + 60 * asked.minutes
        while waiting or running:
            while waiting and running < SIDE_BY_SIDE:
                forked(drive, place, waiting.pop(0), until, seconds)
                running += 1
            os.wait()
            running -= 1
        for number in range(asked.runs):
            counts.update(json.loads((place / f"{number}.json").read_text()))
        counts["begun anew, and finished at the end"] = begun_and_forgotten(place)
        faults, finished = examined(place, asked.runs)
        faults += [f"{what} {number}" for what, number in counts.items() if what in ("hang", "never finished")]
        faults += [f"{what}: {number}" for what, number in counts.items() if what.endswith(("exit 3", "exit 70"))]
        faults += [f"left over in shared memory: {name}" for name in set(os.listdir("/dev/shm")) - shared]
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
            faults.append("a process is left over")
        child = forked(memory, place, place / "memory.json")
        os.waitpid(child, 0)
        measured = json.loads((place / "memory.json").read_text())
    minutes = (time.monotonic() - begun) / 60
    print(f"{finished} runs finished and looked at in {minutes:.1f} minutes")
    for what, number in sorted(counts.items()):
        print(f"  {number:5} {what}")
    for what, series in measured.items():
        half = len(series) // 2
        grown = (series[-1] - series[half]) / (len(series) - 1 - half)
        print(f"MiB held, runs {what}: {' '.join(f'{value:.1f}' for value in series)}: {grown:+.3f} per time")
        if grown > LEAK:
            faults.append(f"memory grows by {grown:.2f} MiB per time (runs {what})")
    for fault in faults:
        print("!", fault)
    print("nothing wrong" if not faults else f"{len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
