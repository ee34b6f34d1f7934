"""Faults and power cuts over small runs, one process each, forked after the imports; what became of every one.

python tests/faults/all_faults.py [--minutes 60] [--sample N]         (make faults)
"""

import argparse
import json
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import disk
import scenarios

PRELOADED = ["torch._dynamo", "optuna", "sklearn.datasets", "replab.api", "replab.report.write", "scipy.stats"]
EVERY = ("search and train",)  # every operation; of the others each tenth
FAULTS = ("SIGKILL", "ENOSPC", "EIO", "EINTR")
TOO_LONG = 300  # seconds: a hang


class Campaign:
    def __init__(self, top, seconds=float("inf"), seed=3407):
        self.top, self.until, self.draw = top, time.monotonic() + seconds, random.Random(seed)
        self.server = multiprocessing.get_context("forkserver")
        self.server.set_forkserver_preload(PRELOADED)
        self.alone, self.counts = {}, {}
        self.failures = []

    def process(self, target, *args):
        child = self.server.Process(target=target, args=args)
        child.start()
        child.join(TOO_LONG)
        if child.exitcode is None:
            child.kill()
            child.join()
            return "hang"
        return child.exitcode

    def left_alone(self, name):
        """What it ends with, and how many operations there are."""
        if name not in self.alone:
            place, report = self.top / "alone" / name.replace(" ", "-"), self.top / f"{name.replace(' ', '-')}.json"
            code = self.process(scenarios.carry_out, name, place, "", 0, str(report))
            facts = json.loads(report.read_text())
            assert code == 0, facts["said"]
            self.alone[name], self.counts[name] = scenarios.ends(place), facts["by_kind"]
        return self.alone[name]

    def operations(self, name, fault):
        from injector import POSSIBLE

        self.left_alone(name)
        return sum(self.counts[name][kind] for kind in POSSIBLE[fault])

    def fault(self, name, fault, at):
        """One fault, then the run is gone on with. → what became of it: identical, lost, traceback, hang."""
        right = self.left_alone(name)
        place = Path(tempfile.mkdtemp(dir=self.top))
        report = place / "report.json"
        code = self.process(scenarios.carry_out, name, place, fault, at, str(report))
        said = json.loads(report.read_text()) if report.is_file() else {}
        if code in ("hang", 3):
            return self.failed(name, fault, at, "hang" if code == "hang" else "traceback", said, place)
        return self.go_on(name, f"{fault} at {at}", right, place, said)

    def go_on(self, name, what, right, place, said=None):
        report = place / "again.json"
        code = self.process(scenarios.carry_out, name, place, "", 0, str(report))
        again = json.loads(report.read_text()) if report.is_file() else {}
        if code != 0:
            return self.failed(name, what, "", "lost" if code == 2 else "traceback after it", again, place)
        try:
            same = scenarios.ends(place) == right
        except AssertionError as error:
            return self.failed(name, what, "", "left over", {"said": str(error)}, place)
        if not same:
            return self.failed(name, what, "", "other numbers", said or {}, place)
        shutil.rmtree(place)
        return "identical"

    def failed(self, name, fault, at, what, said, place):
        self.failures.append(f"{name}, {fault} {at}: {what}: {said.get('hit', '')} {said.get('said', '')[-1500:]}")
        shutil.rmtree(place, ignore_errors=True)
        return what

    def faults(self, name, faults, step):
        """Each `step`-th operation; what became of how many."""
        found = Counter()
        for fault in faults:
            for at in range(1 if step == 1 else self.draw.randint(1, step), self.operations(name, fault) + 1, step):
                if time.monotonic() > self.until:
                    found["not tried: no time left"] += 1
                    continue
                found[self.fault(name, fault, at)] += 1
        return found

    def power_cuts(self, name, most=10**9):
        """Every state that a cut could leave; `most` of them are drawn."""
        right = self.left_alone(name)
        place, states = self.top / f"recorded-{name}".replace(" ", "-"), self.top / f"states-{name}".replace(" ", "-")
        report = self.top / f"cuts-{name}.json".replace(" ", "-")
        assert self.process(disk.record, name, place, states, report) == 0
        facts, found = json.loads(report.read_text()), Counter()
        kept = sorted(states.iterdir())
        for state in sorted(self.draw.sample(kept, min(most, len(kept)))):
            if time.monotonic() > self.until:
                found["not tried: no time left"] += 1
                continue
            again = Path(tempfile.mkdtemp(dir=self.top))
            disk.lay_out(state, again)
            found[self.go_on(name, f"power cut, state {state.name}", right, again)] += 1
        shutil.rmtree(states)
        return facts, found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=55)
    parser.add_argument("--sample", type=int, default=1, help="each N-th of what would be tried")
    parser.add_argument("--only", default="", help="scenarios, by commas")
    asked = parser.parse_args()
    names = asked.only.split(",") if asked.only else list(scenarios.SCENARIOS)
    with tempfile.TemporaryDirectory(prefix="replab-faults-") as top:
        campaign = Campaign(Path(top), 60 * asked.minutes)
        begun, total = time.monotonic(), Counter()
        for name in names:
            campaign.left_alone(name)
            print(f"{name}: {campaign.counts[name]}", flush=True)
            plans = [(("SIGKILL", "ENOSPC"), 1), (("EIO", "EINTR"), 10)] if name in EVERY else [(FAULTS, 10)]
            for faults, step in plans:
                found = campaign.faults(name, faults, step * asked.sample)
                total += found
                print(f"  {', '.join(faults)}, each {step * asked.sample}.: {dict(found)}", flush=True)
            facts, found = campaign.power_cuts(name, max(1, 10**9 if asked.sample == 1 else 400 // asked.sample))
            total += found
            print(f"  power cuts: {facts}: {dict(found)}", flush=True)
        minutes = (time.monotonic() - begun) / 60
    print(f"all: {dict(total)} in {minutes:.1f} minutes")
    for failure in campaign.failures:
        print("!", failure)
    sys.exit(bool(campaign.failures))


if __name__ == "__main__":
    main()
