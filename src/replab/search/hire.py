"""How many workers a search gets, and of which engine: what was asked for, or what cores, GPUs and memory allow."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from replab.errors import ModelError, RunError
from replab.records.events import Events
from replab.search.engines.address import check_address
from replab.search.engines.base import Engine, Work, Workers, engine
from replab.search.work import obstacle, session_code
from replab.settings.searched import at_once, wanted_trials
from replab.settings.words import count, duration
from replab.training.cost import Cost, searches
from replab.training.experiment import Experiment

ALONE = Workers(1, "in-process")
CGROUP = Path("/sys/fs/cgroup")
START = 6.0  # seconds until workers, which have torch to import, have begun: what they save must be more
PRUNED = 0.25  # of the most that trials may take is what they take where those that fall behind are ended


def hire(work: Work, workers: Workers) -> Engine:
    found: Engine = engine.get(workers.engine)(work, workers.count or 1, workers.address)
    return found


def at_most(workers: Workers, jobs: int) -> Workers:
    """No more processes than there are jobs left, as in a search that is resumed; for one job none is started."""
    if workers.engine != "processes":
        return workers
    return ALONE if jobs < 2 else replace(workers, count=min(workers.count or 1, jobs))


def settle(workers: Workers, experiment: Experiment, cost: Cost, events: Events) -> Workers:
    """With the number decided. What cannot be done is refused if it was asked for, and passed over if it was not."""
    recipe, wanted = experiment.recipe, workers.count
    asked = "--engine ray" if workers.engine == "ray" else f"--workers {wanted}" if (wanted or 1) > 1 else ""
    if not searches(experiment) or recipe.search.method == "range-test":
        if asked:
            what = "several seeds (--seeds) or values (replab sweep)"
            events.message(f"{recipe.model} has nothing to search for: --workers serves {what} only")
        return ALONE
    if reason := obstacle(experiment):
        if asked and session_code(experiment):
            raise ModelError(f"{asked} needs code that can be sent to a worker: {reason}")
        if asked:
            events.message(f"{asked} is not used: {reason}")
        return ALONE
    if asked and workers.engine == "processes" and at_once(recipe) == 1 < wanted_trials(recipe):
        one_by_one = "search.batch = 1 asks for each trial after the one before; --search-batch 4 has four open"
        events.message(f"{asked} is not used: {one_by_one}")
        return ALONE
    halving = recipe.search.method == "halving"
    memory = cost.memory_bytes if experiment.device == "cpu" else 0  # each has a GPU of its own, where it fits
    found = crew(workers, at_once(recipe), slots(experiment), memory)
    if found.engine == "in-process" or found.count is None:
        return found
    likely = cost.search_seconds * (1.0 if halving or not recipe.search.prune else PRUNED)
    if wanted is None and likely * (1 - 1 / found.count) <= START and found.engine == "processes":
        return ALONE
    each = count(recipe.search.threads, "thread") if recipe.search.threads else "all threads"
    shared, where = duration(cost.search_seconds / found.count), "on Ray" if found.engine == "ray" else "processes"
    events.message(f"workers: {found.count} {where}, {each} each; search at most {shared}")
    return found


def crew(workers: Workers, jobs: int, room: int, memory: int) -> Workers:
    """For jobs that are alike and independent: as many as were asked for, or as there is room for on this machine.

    `memory`: bytes of a process with one of them.
    """
    asked = workers.count
    if workers.engine == "ray":
        check_address(workers.address or os.environ.get("RAY_ADDRESS"))
        return replace(workers, count=min(asked or jobs, jobs))
    if jobs == 1 or asked == 1 or workers.engine == "in-process":
        return ALONE
    count, free = min(asked or room, jobs), fits(memory)
    if asked is not None and count > free:
        need = f"{count * memory / 2**30:.1f} GiB"
        raise RunError(f"--workers {asked} needs about {need}, more than is free: {free} fit; --workers {max(1, free)}")
    count = min(count, max(1, free))
    return ALONE if count < 2 else replace(workers, count=count)


def room(device: str) -> int:
    """Jobs that this machine can do side by side, each on the threads it has alone: one per GPU, or as cores allow."""
    import torch

    if device == "cuda":
        return int(torch.cuda.device_count())
    return cores() // int(torch.get_num_threads()) if device == "cpu" else 1


def slots(experiment: Experiment) -> int:
    """Trials that this machine can run side by side: one per GPU, or as its cores allow."""
    if experiment.device.startswith("cuda"):
        import torch

        return torch.cuda.device_count() if experiment.device == "cuda" else 1
    if experiment.device != "cpu":
        return 1
    return cores() // experiment.recipe.search.threads if experiment.recipe.search.threads else 1


def cores() -> int:
    """Of this machine, as far as this process may use them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fits(each: int) -> int:
    """Processes of so many bytes that free memory has room for; where that is not known, as many as one likes."""
    meminfo = Path("/proc/meminfo")
    if not meminfo.is_file() or not each:
        return 2**16
    free = next((line.split()[1] for line in meminfo.read_text().splitlines() if line.startswith("MemAvail")), None)
    known = [*([int(free) * 1024] if free else []), *allowed_memory(CGROUP)]
    return min(known) // each if known else 2**16


def allowed_memory(folder: Path) -> list[int]:
    """Bytes left of what a container or a batch system allows; none where it sets no limit."""
    try:
        limit, used = ((folder / f"memory.{name}").read_text().strip() for name in ("max", "current"))
        return [max(0, int(limit) - int(used))]
    except (OSError, ValueError):  # not Linux, another version of control groups, or "max": no limit
        return []
