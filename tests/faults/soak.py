"""Many small runs in one folder, by four processes at a time that are killed, terminated and run out of disk.

    python tests/faults/soak.py [--runs 200] [--minutes 30]         (make soak)

At the end every run is finished, verified and in the leaderboard, runs of one seed have ended with the same bytes, and
nothing is left over: no temporary files, no checkpoints, no folders that are no runs.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from all_faults import PRELOADED
from scenarios import ENDS

SETTINGS = {
    "model": "mlp", "limit": 60, "batch_size": 16, "params": {"widths": [8]}, "epochs": 3, "workers": 1,
    "search": {"trials": 2, "max_epochs": 2, "fraction": 1.0, "min_validation": 20, "batch": 2},
}  # fmt: skip
SEEDS = 20  # different ones: runs of one seed must end alike


class Mapped:
    """Writes down which folder a run got, as the command line prints it."""

    def __init__(self, path):
        self.path = path

    def hear(self, event):
        if event.kind == "run":
            self.path.write_text(event.facts["folder"])


def attempt(place, number, full_at):
    """In a process of its own: begin run `number`, or go on with it."""
    os.environ |= {"REPLAB_CACHE": str(place / "cache"), "REPLAB_CONFIG": str(place / "config")}
    import torch

    from replab import api
    from replab.errors import ReplabError
    from replab.records.events import Events
    from replab.report import write as report
    from replab.training import interruption

    torch.set_num_threads(1)
    report.draw = lambda *args: []
    listening = interruption.listening()
    listening.__enter__()
    if full_at:
        from injector import Injector

        Injector([place / "runs"], "ENOSPC", full_at).install()
    known = place / f"{number}.txt"
    try:
        events = Events(Mapped(known))
        if known.is_file() and (Path(known.read_text()) / "environment.json").is_file():
            api.resume(known.read_text(), events=events, workers=1)
        else:
            api.run(**SETTINGS, seed=number % SEEDS, runs=place / "runs", events=events)
    except ReplabError:
        os._exit(2)
    except interruption.Terminated:
        os._exit(interruption.EXIT_CODE)
    os._exit(0)


def carry_out(context, place, number, until, rng, counts):
    """One run, however often it is interrupted."""
    for tries in range(50):
        calm = tries > 6 or time.monotonic() > until
        what = "calm" if calm else rng.choice(("kill", "terminate", "full disk", "calm"))
        full_at = rng.randrange(1, 120) if what == "full disk" else 0
        child = context.Process(target=attempt, args=(place, number, full_at))
        child.start()
        if what in ("kill", "terminate"):
            child.join(rng.uniform(0.05, 2.5))
            if child.is_alive():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL if what == "kill" else signal.SIGTERM)
        child.join(300)
        if child.exitcode is None:
            child.kill()
            counts["hang"] += 1
        counts[f"{what}: exit {child.exitcode}"] += 1
        if child.exitcode == 0:
            return
    counts["never finished"] += 1


def examined(place, runs, counts):
    """What is wrong at the end."""
    from replab.records.record import Record, sweep
    from replab.records.verify import verify
    from replab.runs.compare import table
    from replab.runs.run import finished_runs

    sweep(place / "runs", older=0)
    faults, by_seed = [], {}
    for record in Record.all(place / "runs"):
        verdict = verify(record)
        faults += [f"{record.id}: {problem}" for problem in verdict.problems]
        if record.has("metrics.json"):
            ends = tuple(record.read_bytes(name) for name in ENDS)
            by_seed.setdefault(record.recipe().seed, set()).add(ends)
    faults += [f"seed {seed}: {len(ends)} different ends" for seed, ends in by_seed.items() if len(ends) > 1]
    finished = finished_runs(place / "runs", faults.append)
    listed = table(finished, say=faults.append)
    if len(listed) < runs or len(listed) != len(finished):
        faults.append(f"{len(listed)} of {runs} runs are in the leaderboard, {len(finished)} are finished")
    for path in (place / "runs").rglob("*"):
        if path.name.endswith(".tmp") or path.name.startswith("checkpoint"):
            unfinished = not (path.parent / "metrics.json").is_file()
            counts["left by a run that was begun anew"] += unfinished
            faults += [] if unfinished else [f"left over: {path}"]
    counts["folders"] = len(list((place / "runs").iterdir()))
    return faults, len(finished)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=30, help="after this many nothing is killed any more")
    asked = parser.parse_args()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    begun, counts = time.monotonic(), Counter()
    with tempfile.TemporaryDirectory(prefix="replab-soak-") as top:
        place = Path(top)
        until = begun + 60 * asked.minutes
        with ThreadPoolExecutor(4) as pool:
            jobs = [
                pool.submit(carry_out, context, place, n, until, random.Random(n), counts) for n in range(asked.runs)
            ]
            for job in jobs:
                job.result()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        faults, finished = examined(place, asked.runs, counts)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    minutes = (time.monotonic() - begun) / 60
    print(f"{finished} runs finished in {minutes:.1f} minutes; reading them took {grown:.0f} MiB")
    print(dict(sorted(counts.items())))
    for fault in faults:
        print("!", fault)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
