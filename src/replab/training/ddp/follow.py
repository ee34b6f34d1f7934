"""Every process of a shared training but the first: told what to train, it computes its shares and writes nothing."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from replab.errors import ReplabError, RunError
from replab.models.trust import digest
from replab.settings.recipe import Recipe

LONG = timedelta(days=30)  # the first process may search for long before it trains


def follows() -> bool:
    """Whether this process was started by torchrun to follow the first one."""
    from replab.training.ddp.lead import under_torchrun

    return under_torchrun() > 1 and os.environ["RANK"] != "0"


def follow() -> None:
    """Training after training, until the first process ends."""
    import torch.distributed as dist

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a model prints, the first process prints
    store = next(iter(dist.rendezvous("env://")))[0]
    number = 0
    while True:
        number += 1
        try:
            store.wait([f"work/{number}"], LONG)
            text = store.get(f"work/{number}").decode()
        except RuntimeError:  # it is gone
            return
        if not text:
            return
        _take_part(store, number, json.loads(text))


def _take_part(store: Any, number: int, told: Mapping[str, Any]) -> None:
    from replab.training.ddp.lead import join, share_state
    from replab.training.ddp.member import Member
    from replab.training.loop import Diverged

    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    try:
        learner = _rebuilt(told)
    except Exception as error:
        said = str(error) if isinstance(error, ReplabError) else f"{type(error).__name__}: {error}"
        store.set(f"refused/{number}/{rank}", " ".join(said.split())[:300])
        return
    recipe = Recipe.from_toml(told["chosen"])
    state = learner.state(learner.model(recipe), recipe)
    store.set(f"ready/{number}/{rank}", "1")
    team = Member(rank, count, learner.device)
    try:
        join(store, number, rank, count, learner.device)
        share_state(state, told["first_epoch"])
        member = replace(learner, team=team)
        with contextlib.suppress(Diverged):  # the first process says so
            watch = {"test": learner.data.test} if recipe.test_curve else {}
            for _ in member.fit(state.model, recipe, watch=watch, state=state, first_epoch=told["first_epoch"]):
                pass
    except RuntimeError as error:  # the first process is told, if it is there
        with contextlib.suppress(RuntimeError):
            store.set(f"refused/{number}/{rank}", " ".join(str(error).split())[:300])
    finally:
        team.leave()


def _rebuilt(told: Mapping[str, Any]) -> Any:
    """The experiment as the first process has it. Code is imported only if it is the text that that one imported."""
    import torch

    from replab.training.prepare import prepare

    torch.set_num_threads(told["threads"])
    recipe = Recipe.from_toml(told["recipe"])
    for place, mark in told["code"].items():
        path = Path(place.rpartition(":")[0])
        if digest(path.read_text(encoding="utf-8") if path.is_file() else "") != mark:
            raise RunError(f"{path} is not the file that the first process has")
    if told["device"].startswith("cuda"):
        recipe = recipe.replace(device=f"cuda:{os.environ.get('LOCAL_RANK', 0)}")
    learner = prepare(recipe, told["model"], parts=told["parts"], reopened=True, weights_sha256=told["weights_sha256"])
    if learner.data.fingerprint != told["fingerprint"]:
        raise RunError(f"the images of {recipe.data} are not those that the first process has")
    return replace(learner, channels_last=told["channels_last"])


def main() -> None:
    """Started by the first process, whose end closes the pipe."""
    threading.Thread(target=_end_with, args=(sys.stdin,), daemon=True).start()
    follow()


def _end_with(stdin: Any) -> None:
    stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
