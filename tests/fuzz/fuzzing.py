"""Mutated files for every reader, in processes with limits; what fails is kept in tests/fuzz/corpus and fails a test.

    python tests/fuzz/fuzzing.py [--minutes 10] [--cases 100000] [--only pth,zip]         (make fuzz MINUTES=10)

A case is its target and number: the same number is the same bytes. Limits: 5 seconds of computing (60 of waiting, the
time in which this program was itself stopped left out) and 1 GiB beyond what the process has when it begins. An audit
hook notices a program that is started, a connection, and what a seed's code would make.
"""

import argparse
import hashlib
import mmap
import multiprocessing
import os
import random
import re
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from mutation import mutated
from targets import TARGETS

HERE = Path(__file__).parent
SECONDS, MEMORY = 5, 2**30
BATCH = 1250  # cases per process: importing what a reader needs takes longer than a hundred cases
FORBIDDEN = ("os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen", "socket.connect", "os.mkdir")


class TooSlow(BaseException):
    pass


class Ran(BaseException):
    """A file had something run."""


def case(seeds, target, number):
    """The bytes of a case."""
    rng = random.Random(f"{type(target).__name__}/{number}")
    return mutated(rng.choice(seeds), rng, target.text)


def one(target, data, place):
    """What is wrong with how a reader takes these bytes; nothing where it answers or refuses."""
    path = place / f"case{target.ending}"
    path.write_bytes(data)
    try:
        target.read(path)
    except target.refusals as error:
        return "several lines: " + str(error)[:200] if "\n" in str(error).strip() and not _of_mytorch(target) else ""
    except TooSlow:
        return f"slow: more than {SECONDS} s"
    except Ran as error:
        return f"ran: {error}"
    except MemoryError:
        return "memory: more than 1 GiB"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]}\n{traceback.format_exc()[-1500:]}"
    return ""


def _of_mytorch(target):
    return type(target).__name__ == "MyTorch"


def batch(name, first, count, shared, found, place):
    """In a process of its own: these cases, each number written down before it is tried."""
    os.environ |= {f"REPLAB_{what}": str(place / what.lower()) for what in ("CACHE", "CONFIG", "DATA", "RUNS")}
    target = TARGETS[name](place)
    seeds, progress = list(target.seeds()), mmap.mmap(shared, 8)
    armed = []

    def hook(event, args):
        if armed and event in FORBIDDEN and not (event == "os.mkdir" and str(args[0]) != str(place / "run")):
            raise Ran(f"{event} {str(args)[:100]}")

    def late(number, frame):
        raise TooSlow

    for seed in seeds:
        one(target, seed, place)  # what is imported and read once is not the case's
    sys.addaudithook(hook)
    signal.signal(signal.SIGPROF, late)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))
    for number in range(first, first + count):
        progress[:] = struct.pack("<q", number)
        data = case(seeds, target, number)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        armed.append(True)
        try:
            fault = one(target, data, place)
        except TooSlow:
            fault = f"slow: more than {SECONDS} s"
        finally:
            armed.clear()
            signal.setitimer(signal.ITIMER_PROF, 0)
        if fault:
            found.put((number, fault))
    progress[:] = struct.pack("<q", first + count)


def tried(name, first, count, top):
    """The faults of a batch, number → what; a process that died or hung is one of its case."""
    context = multiprocessing.get_context("fork")
    faults, done = {}, first
    while done < first + count:
        with tempfile.TemporaryFile() as file, tempfile.TemporaryDirectory(dir=top) as place:
            file.write(struct.pack("<q", done))
            file.flush()
            found = context.Queue()
            child = context.Process(
                target=batch, args=(name, done, first + count - done, file.fileno(), found, Path(place))
            )
            child.start()
            at, waited, before = done, 0.0, time.monotonic()
            while child.is_alive():
                child.join(0.2)
                elapsed, before = time.monotonic() - before, time.monotonic()
                waited += min(elapsed, 0.5)
                while not found.empty():
                    number, fault = found.get()
                    faults[number] = fault
                file.seek(0)
                now = struct.unpack("<q", file.read(8))[0]
                if now != at:
                    at, waited = now, 0.0
                elif waited > 12 * SECONDS:
                    child.kill()
                    faults[at] = "hang"
            while not found.empty():
                number, fault = found.get()
                faults[number] = fault
            file.seek(0)
            at = struct.unpack("<q", file.read(8))[0]
            if child.exitcode and at < first + count:
                faults.setdefault(at, f"the process died: {child.exitcode}")
            done = at + 1 if at < first + count else first + count
    return faults


def keep(name, number, top):
    """Write a failing case to the corpus."""
    target = TARGETS[name](Path(tempfile.mkdtemp(dir=top)))
    data = case(list(target.seeds()), target, number)
    path = HERE / "corpus" / name / f"{hashlib.sha256(data).hexdigest()[:16]}{target.ending}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--cases", type=int, default=0, help="this many, however long it takes")
    parser.add_argument("--only", default="")
    parser.add_argument("--first", type=int, default=None, help="the number of the first case; default: by the clock")
    asked = parser.parse_args()
    names = asked.only.split(",") if asked.only else list(TARGETS)
    first = int(time.time()) * 1000 if asked.first is None else asked.first
    import optuna  # noqa: F401
    import torch

    import mytorch.serialization
    import replab.api
    import replab.pipeline  # noqa: F401

    torch.set_num_threads(1)
    assert mytorch.serialization
    begun, counts, kinds = time.monotonic(), Counter(), {}

    def enough():
        return counts.total() >= asked.cases if asked.cases else time.monotonic() - begun > 60 * asked.minutes

    with tempfile.TemporaryDirectory(prefix="replab-fuzz-") as top:
        while not enough():
            for name in names:
                faults = tried(name, first + counts[name], BATCH, Path(top))
                counts[name] += BATCH
                for number, fault in faults.items():
                    last = fault.strip().splitlines()[-1]
                    kind = (name, re.sub(r"\d+|'[^']*'|/\S+", "…", last)[:60])
                    if kind not in kinds:
                        path = keep(name, number, top)
                        print(f"! {name} {number}: {fault}\n  kept as {path.relative_to(HERE.parents[1])}", flush=True)
                    kinds[kind] = kinds.get(kind, 0) + 1
                if enough():
                    break
            so_far = f"{counts.total():,} cases, {sum(kinds.values())} failures"
            print(f"{so_far}, {(time.monotonic() - begun) / 60:.1f} minutes", flush=True)
    minutes = (time.monotonic() - begun) / 60
    for name, count in counts.items():
        print(f"{name:12} {count:8,} cases, {sum(n for (k, _), n in kinds.items() if k == name)} failures")
    print(f"all: {sum(counts.values()):,} cases, {sum(kinds.values())} failures, in {minutes:.1f} minutes")
    sys.exit(bool(kinds))


if __name__ == "__main__":
    main()
