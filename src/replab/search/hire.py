"""How many workers a search gets, and of which engine: what was asked for, or what cores, GPUs and memory allow."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from replab.errors import ModelError, RunError
from replab.records.events import Events
from replab.search.engines.base import Engine, Workers, engine
from replab.search.work import Work, obstacle, session_code
from replab.settings.searched import planned, wanted_trials
from replab.settings.words import duration
from replab.training.cost import Cost, searches
from replab.training.experiment import Experiment

ALONE = Workers(1, "in-process")
START = 6.0  # seconds until workers, which have torch to import, have begun: what they save must be more
PRUNED = 0.25  # of the most that trials may take is what they take where those that fall behind are ended


def hire(work: Work, workers: Workers) -> Engine:
    found: Engine = engine.get(workers.engine)(work, workers.count or 1, workers.address)
    return found


def settle(workers: Workers, experiment: Experiment, cost: Cost, events: Events) -> Workers:
    """With the number decided. What cannot be done is refused if it was asked for, and passed over if it was not."""
    recipe, wanted = experiment.recipe, workers.count
    if not searches(experiment) or recipe.search.method == "range-test":
        if (wanted or 1) > 1 or workers.engine == "ray":
            events.message(f"{recipe.model} has nothing to search for: workers have nothing to do in this run")
        return ALONE
    if reason := obstacle(experiment):
        if (wanted or 1) > 1 and session_code(experiment):
            raise ModelError(f"--workers {wanted} needs code that can be sent to a worker: {reason}")
        if (wanted or 1) > 1:
            events.message(f"--workers {wanted} is not used: {reason}")
        return ALONE
    halving = recipe.search.method == "halving"
    at_once = planned(recipe)[0].trials if halving else min(recipe.search.batch, wanted_trials(recipe))
    if workers.engine == "ray":
        from replab.search.engines.ray import check_address

        check_address(workers.address or os.environ.get("RAY_ADDRESS"))
    if workers.engine != "processes":
        return replace(workers, count=min(wanted or at_once, at_once))
    free = fits(cost.memory_bytes)
    if wanted is not None and wanted > free and min(wanted, at_once) > free:
        need = f"{wanted * cost.memory_bytes / 2**30:.1f} GiB"
        raise RunError(
            f"--workers {wanted} needs about {need}, more than is free: {free} fit; --workers {max(1, free)}"
        )
    if wanted is None:
        wanted = max(1, min(slots(experiment), free, at_once))
        likely = cost.search_seconds * (1.0 if halving or not recipe.search.prune else PRUNED)
        wanted = wanted if likely * (1 - 1 / wanted) > START else 1
    count = min(wanted, at_once)
    if count < 2:
        return ALONE
    shared = duration(cost.search_seconds / count)
    events.message(f"workers: {count} processes, {recipe.search.threads or 'all'} thread each; search at most {shared}")
    return replace(workers, count=count)


def slots(experiment: Experiment) -> int:
    """Trials that this machine can run side by side: one per GPU, or as its cores allow."""
    if experiment.device.startswith("cuda"):
        import torch

        return torch.cuda.device_count() if experiment.device == "cuda" else 1
    if experiment.device != "cpu":
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores // experiment.recipe.search.threads if experiment.recipe.search.threads else 1


def fits(each: int) -> int:
    """Processes of so many bytes that free memory has room for; where that is not known, as many as one likes."""
    meminfo = Path("/proc/meminfo")
    if not meminfo.is_file() or not each:
        return 2**16
    free = next((line.split()[1] for line in meminfo.read_text().splitlines() if line.startswith("MemAvail")), None)
    return 2**16 if free is None else int(free) * 1024 // each
