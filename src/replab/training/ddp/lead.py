"""The first process of a shared training: it starts the others or is started with them, and alone writes the run.

`--ddp N` starts N - 1 followers on this machine; under torchrun all N are there already. Followers are told plain
values by way of a store of torch's: the recipe, the model file and its hash, the fingerprint of the images.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

from replab.backends.backend import threads
from replab.data.source import LIVE
from replab.errors import ModelError, RecipeError, RunError
from replab.settings.recipe import Recipe
from replab.training.experiment import Experiment
from replab.training.features import Frozen
from replab.training.state import State

START = 300.0  # seconds within which followers must have loaded their images
_served = [0]  # trainings that this process has led under torchrun
_stores: list[Any] = []  # torchrun's, opened once


@dataclass(frozen=True)
class Size:
    """How a run is trained. It is in no recipe, but in the run: sums over other shares round otherwise."""

    processes: int = 1
    threads: int = 0  # of each; 0: as they are

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def under_torchrun() -> int:
    """Processes that torchrun, or whoever sets its variables, has started; 1 elsewhere."""
    if not all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")):
        return 1
    count = os.environ["WORLD_SIZE"]
    if not (count.isdecimal() and int(count) > 0):
        raise RunError(f"WORLD_SIZE must be a number of processes, got {count!r}; unset it, or let torchrun set it")
    return int(count)


def size(asked: int | None, experiment: Experiment) -> Size:
    """Of the team that trains this experiment, refused where it cannot be."""
    import torch

    started = under_torchrun()
    if asked is not None and asked < 1:
        raise RecipeError(f"--ddp must be at least 1, got {asked}; it is the number of processes that train together")
    if started > 1 and asked not in (None, started):
        raise RecipeError(f"torchrun has started {started} processes, got --ddp {asked}; leave --ddp out")
    count = asked or started
    if count == 1:
        return Size()
    recipe, how = experiment.recipe, f"--ddp {count}"
    if experiment.backend.name != "torch":
        raise RecipeError(f"{how} needs torch, got --backend {experiment.backend.name}; leave one of them out")
    if isinstance(experiment, Frozen):
        raise RecipeError(f"{how} shares the training of a whole model, and of {recipe.model} only the head is trained")
    if recipe.batch_size < 2 * count:
        raise RecipeError(
            f"{how} needs two images per process in a batch, got --batch-size {recipe.batch_size}; at least {2 * count}"
        )
    if recipe.data.startswith(LIVE):
        raise RecipeError(f"{how} needs data that other processes can read; save the arrays as .npz and name the file")
    for part in (experiment.source, *experiment.own.values()):
        if part.path is None and part.text is not None:
            raise ModelError(f"{how} needs code that other processes can import: put {part.name} into a file")
    kind = experiment.device.partition(":")[0]
    local = int(os.environ.get("LOCAL_WORLD_SIZE", count))
    if kind == "cuda" and (torch.cuda.device_count() < local or ":" in experiment.device):
        there = torch.cuda.device_count()
        raise RecipeError(
            f"{how} needs {local} GPUs, got --device {recipe.device}, which has {1 if ':' in recipe.device else there};"
            f" --ddp {max(1, there)}, or --device cpu"
        )
    if kind not in ("cpu", "cuda"):
        raise RecipeError(f"{how} trains on CPUs or on GPUs with CUDA, got --device {experiment.device}")
    return Size(count, threads_each(local if started == 1 else 1))


def threads_each(count: int) -> int:
    """Of processes that share this machine; torchrun has seen to it already."""
    import torch

    return max(1, int(torch.get_num_threads()) // count)


def of_run(environment: dict[str, Any]) -> Size:
    """As its environment.json says."""
    kept = environment.get("ddp") or {}
    values = [kept.get("processes", 1), kept.get("threads", 0)]
    if not all(isinstance(value, int) and 0 <= value < 2**16 for value in values) or values[0] < 1:
        raise RunError(f"environment.json is not replab's: ddp is {kept!r}")
    return Size(*values)


def recorded(environment: dict[str, Any], asked: int | None, run: str) -> Size:
    """Of the team that a run was begun with: its end is to be that of a run left alone."""
    known = of_run(environment)
    given = asked or (under_torchrun() if under_torchrun() > 1 else None)
    if given not in (None, known.processes):
        way = f"--ddp {known.processes}" if under_torchrun() == 1 else f"--nproc-per-node {known.processes}"
        begun = "1 process" if known.processes == 1 else f"{known.processes} processes"
        raise RunError(
            f"run {run} was begun with {begun}, got {given}: other shares round otherwise; {way}, or a new run"
        )
    if given is None and known.processes > max(os.cpu_count() or 1, 2):  # a stranger's run starts no crowd
        raise RunError(
            f"run {run} was begun with {known.processes} processes, more than this machine has cores;"
            f" --ddp {known.processes} starts as many all the same"
        )
    return known


@contextlib.contextmanager
def together(
    team: Size, learner: Experiment, recipe: Recipe, state: State, first_epoch: int, run: str
) -> Iterator[Experiment]:
    """The learner as the first of a team, for one training. One process alone is the learner as it is."""
    if team.processes == 1:
        yield learner
        return
    from replab.training.ddp.member import Member

    member = Member(0, team.processes, learner.device)
    store, followers = _gather(team, learner.device)
    number = 1 if followers else _served[0] + 1  # followers of one training alone have seen no other
    _served[0] = number
    try:
        store.set(f"work/{number}", json.dumps(_told(team, learner, recipe, first_epoch)))
        _wait(store, followers, number, team.processes)
        with threads(learner.backend, team.threads):
            join(store, number, 0, team.processes, learner.device)
            share_state(state, first_epoch)
            yield replace(learner, team=member)
    except RuntimeError as error:  # a collective operation failed
        raise _fault(error, store, followers, number, team.processes, run) from None
    finally:
        member.leave()
        for process in followers:
            process.kill()
            process.wait()


def _gather(team: Size, device: str) -> tuple[Any, list[subprocess.Popen[bytes]]]:
    """The store, and the followers if they have to be started."""
    import torch.distributed as dist

    if under_torchrun() > 1:
        return _torchruns_store(), []
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    caps = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(team.threads))
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "WORLD_SIZE": str(team.processes)}
    words = [sys.executable, "-m", "replab.training.ddp.follow"]
    return store, [
        subprocess.Popen(
            words, stdin=subprocess.PIPE, start_new_session=True,  # Ctrl-C is the first process's
            env={**os.environ, **caps, **place, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(1, team.processes)
    ]  # fmt: skip


def _torchruns_store() -> Any:
    import torch.distributed as dist

    if not _stores:
        _stores.append(next(iter(dist.rendezvous("env://")))[0])
        atexit.register(end_followers)
    return _stores[0]


def end_followers() -> None:
    """Under torchrun they wait for another training until they are told that there is none."""
    if under_torchrun() > 1 and os.environ["RANK"] == "0":
        with contextlib.suppress(RuntimeError):
            _torchruns_store().set(f"work/{_served[0] + 1}", "")


def _told(team: Size, learner: Experiment, recipe: Recipe, first_epoch: int) -> dict[str, Any]:
    code = (learner.source, *learner.own.values())
    return {
        "recipe": learner.recipe.to_toml(),
        "chosen": recipe.to_toml(),
        "model": learner.source.place,
        "parts": {name: part.place for name, part in learner.own.items()},
        "code": {part.place: part.sha256 for part in code if part.path is not None},
        "fingerprint": learner.data.fingerprint,
        "weights_sha256": "" if learner.initial is None else learner.initial.sha256,
        "device": learner.device,
        "channels_last": learner.channels_last,
        "threads": team.threads,
        "first_epoch": first_epoch,
    }


def _wait(store: Any, followers: list[Any], number: int, count: int) -> None:
    """Until all are ready, or one cannot."""
    began, missing = time.monotonic(), set(range(1, count))
    while missing:
        missing -= {rank for rank in missing if store.check([f"ready/{number}/{rank}"])}
        ended = [f for f in followers if f.poll() is not None]
        if ended or any(store.check([f"refused/{number}/{rank}"]) for rank in missing):
            raise RuntimeError("a follower ended before the training began")
        if time.monotonic() - began > START:
            raise RuntimeError(f"not all processes were ready within {START:.0f} s")
        time.sleep(0.02)


def join(store: Any, number: int, rank: int, count: int, device: str) -> None:
    """Become part of the group of this training."""
    import torch
    import torch.distributed as dist

    if device.startswith("cuda"):
        torch.cuda.set_device(device)
    kind = "nccl" if device.startswith("cuda") else "gloo"
    warnings.filterwarnings("ignore", "Grad strides do not match")  # of 1x1 images: they cost nothing
    own = dist.PrefixStore(f"training/{number}", store)
    dist.init_process_group(kind, store=own, rank=rank, world_size=count, timeout=timedelta(minutes=30))


def share_state(state: State, first_epoch: int) -> None:
    """The first process's, so that all begin alike; followers have no checkpoint."""
    import torch.distributed as dist

    values = [state.values() if dist.get_rank() == 0 and first_epoch > 1 else None]
    dist.broadcast_object_list(values, 0)
    if values[0] is not None and dist.get_rank() > 0:
        state.restore(values[0])


def _fault(error: RuntimeError, store: Any, followers: list[Any], number: int, count: int, run: str) -> Exception:
    """What became of the others, in one line."""
    for rank, process in enumerate(followers, 1):
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(1.0)
            how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
            return RunError(f"process {rank + 1} of {count} was lost ({how}); replab resume {run} continues")
    for rank in range(1, count):
        with contextlib.suppress(RuntimeError):
            if store.check([f"refused/{number}/{rank}"]):
                why = store.get(f"refused/{number}/{rank}").decode()
                return RunError(f"process {rank + 1} of {count} cannot train: {why}")
    text = " ".join(str(error).split())[:200]
    if followers or not any(word in text.lower() for word in ("gloo", "nccl", "connection", "ready within")):
        return error
    return RunError(f"another process of the training was lost ({text}); replab resume {run} continues")
