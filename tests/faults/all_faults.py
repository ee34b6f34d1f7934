"""Faults and power cuts over small runs, each in a process of its own; what became of every one.

    python tests/faults/all_faults.py [--minutes 60] [--step 10] [--only vae,gan]         (make faults)

A scenario is run once and left alone, in this process: whatever a run imports and warms up is there when the others are
forked from it, and a case takes less than a second. A case is a run with one fault, then the same command again without
one. It must end with the same bytes as the run that was left alone, verified whole, with nothing left over, and without
doing again more than the one trial or epoch that was under way.
"""

import argparse
import gc
import json
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, deque
from itertools import count
from pathlib import Path

import disk
import scenarios
from injector import POSSIBLE

EVERY = {"search and train": ("SIGKILL", "ENOSPC")}  # at every operation; else at each tenth
FAULTS = ("SIGKILL", "ENOSPC", "EIO", "EINTR")
TOO_LONG = 120  # seconds: a hang
UNTRIED = "not tried: no time left"


def forked(target, *args):
    with warnings.catch_warnings(action="ignore"):  # of threads: none of them is needed in the child
        child = os.fork()
    if child:
        return child
    try:
        target(*args)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(70)


def apart(target, *args):
    """The exit code of a process that does this, minus the signal that killed it, or "hang"."""
    child, waited, before = forked(target, *args), 0.0, time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
        elapsed, before = time.monotonic() - before, time.monotonic()
        waited += min(elapsed, 0.5)  # a machine that was stopped meanwhile is no hang
        if waited > TOO_LONG:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return "hang"


def noted(note, method, *args):
    note.write_text(json.dumps(method(*args)))


def read(report):
    return json.loads(report.read_text()) if report.is_file() else {}


class Campaign:
    """Scenarios, left alone and with faults. It patches what it runs: it needs a process of its own."""

    def __init__(self, top, seconds=float("inf"), seed=3407, side_by_side=1):
        self.top, self.until, self.draw = top, time.monotonic() + seconds, random.Random(seed)
        self.side_by_side, self.numbers = side_by_side, count()
        self.alone, self.counts, self.told = {}, {}, {}
        self.failures = []
        scenarios.PICTURES = top / "pictures"
        scenarios.warm()

    def left_alone(self, name):
        """What it ends with, and how many operations there are."""
        if name in self.alone:
            return
        place = self.top / "alone" / name.replace(" ", "-")
        scenarios.settle(place / "first", name)
        scenarios.run(name, place / "first")  # in this process, which is then warm
        report = place / "report.json"
        code = apart(scenarios.carry_out, name, place / "second", "", 0, report)
        facts = read(report)
        assert code == 0, facts.get("said")
        self.alone[name], self.counts[name] = scenarios.ends(place / "second"), facts["by_kind"]
        self.told[name] = facts["told"]
        assert self.alone[name] == scenarios.ends(place / "first"), "two runs that were left alone differ"
        gc.freeze()  # what is there now need not be copied into every process that looks for garbage

    def operations(self, name, fault):
        self.left_alone(name)
        return sum(self.counts[name][kind] for kind in POSSIBLE[fault])

    # -- one case ------------------------------------------------------------------------------------------------------

    def fault(self, name, fault, at):
        """→ what became of it, and in which words."""
        place = Path(tempfile.mkdtemp(dir=self.top))
        report = place / "report.json"
        code = apart(scenarios.carry_out, name, place, fault, at, report)
        facts = read(report)
        if code in ("hang", 3, 70):
            return "hang" if code == "hang" else "traceback", facts.get("said", "")
        became, said = self.go_on(name, place, scenarios.told(place))
        return became, f"{facts.get('hit', '')}: {facts.get('said', '')} {said}"

    def cut(self, name, state):
        place = Path(tempfile.mkdtemp(dir=self.top))
        disk.lay_out(state, place)
        return self.go_on(name, place, int(state.name.split("-")[1]))

    def go_on(self, name, place, told):
        report = place / "again.json"
        code = apart(scenarios.carry_out, name, place, "", 0, report)
        facts = read(report)
        if code != 0:
            return {2: "lost", 4: "damaged", "hang": "hang after it"}.get(code, "traceback after it"), facts.get("said")
        try:
            same = scenarios.ends(place) == self.alone[name]
        except AssertionError as error:
            return "left over", str(error)
        again = facts["told"]
        shutil.rmtree(place)
        if not same:
            return "other numbers", ""
        # the one under way when it happened may have been told and not kept
        done_again = told + again - self.told[name]
        return ("identical", "") if done_again <= 1 else (f"{done_again} trials and epochs done again", "")

    # -- many, side by side --------------------------------------------------------------------------------------------

    def tried(self, name, cases):
        """What became of how many. `cases`: description → (method, arguments)."""
        found, waiting, running = Counter(), deque(cases.items()), {}
        while waiting or running:
            while waiting and len(running) < self.side_by_side:
                what, (method, *args) = waiting.popleft()
                if time.monotonic() > self.until:
                    found[UNTRIED] += 1
                    continue
                note = self.top / f"note-{next(self.numbers)}.json"
                running[forked(noted, note, method, name, *args)] = what, note
            if running:
                child, _ = os.wait()
                what, note = running.pop(child)
                became, said = json.loads(note.read_text()) if note.is_file() else ("the case itself failed", "")
                found[became] += 1
                if became != "identical":
                    self.failures.append(f"{name}, {what}: {became}: {said[-1500:]}")
                    print("!", self.failures[-1], flush=True)
        return found

    def faults(self, name, faults, step):
        """Each `step`-th operation."""
        cases = {}
        for fault in faults:
            for at in range(1 if step == 1 else self.draw.randint(1, step), self.operations(name, fault) + 1, step):
                cases[f"{fault} at {at}"] = self.fault, fault, at
        return self.tried(name, cases)

    def some_faults(self, name, faults, number):
        """So many of each, drawn."""
        points = {fault: self.draw.sample(range(1, self.operations(name, fault) + 1), number) for fault in faults}
        return self.tried(name, {f"{f} at {at}": (self.fault, f, at) for f in faults for at in points[f]})

    def power_cuts(self, name, step=1):
        """Each `step`-th state of the disk that a cut could leave."""
        self.left_alone(name)
        place, states = (self.top / f"{what}-{name}".replace(" ", "-") for what in ("recorded", "states"))
        report = place.with_suffix(".json")
        assert apart(disk.record, name, place, states, report) == 0
        kept = sorted(states.iterdir())[self.draw.randrange(step) if step > 1 else 0 :: step]
        found = self.tried(name, {f"power cut, state {state.name}": (self.cut, state) for state in kept})
        shutil.rmtree(states)
        return read(report), found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--step", type=int, default=10, help="each so many-th operation, where not every one is tried")
    parser.add_argument("--only", default="", help="scenarios, by commas")
    asked = parser.parse_args()
    names = asked.only.split(",") if asked.only else list(scenarios.SCENARIOS)
    with tempfile.TemporaryDirectory(prefix="replab-faults-") as top:
        campaign = Campaign(Path(top), 60 * asked.minutes, side_by_side=os.cpu_count() or 1)
        begun, total, operations, cuts = time.monotonic(), Counter(), 0, 0
        for name in names:
            campaign.left_alone(name)
            counts = campaign.counts[name]
            operations += sum(counts.values())
            print(f"{name}: {', '.join(f'{number} {kind}s' for kind, number in counts.items())}", flush=True)
            for fault in FAULTS:
                step = 1 if fault in EVERY.get(name, ()) else asked.step
                found = campaign.faults(name, [fault], step)
                total += found
                each = "every operation" if step == 1 else f"one of {step} operations"
                print(f"  {fault}, {each} of {campaign.operations(name, fault)}: {dict(found)}", flush=True)
            facts, found = campaign.power_cuts(name, 1 if name in EVERY else asked.step)
            total, cuts = total + found, cuts + facts["cuts"]
            print(f"  power cuts: {facts}: {dict(found)}", flush=True)
        minutes = (time.monotonic() - begun) / 60
    tried = total.total() - total[UNTRIED]
    print(f"operations: {operations}, points of power cuts: {cuts}, cases: {tried} in {minutes:.1f} minutes")
    print(f"resumed identical: {total['identical']}, lost or wrong: {tried - total['identical']}: {dict(total)}")
    sys.exit(bool(campaign.failures or total[UNTRIED]))


if __name__ == "__main__":
    main()
