"""Which model is best for these images within a time: successive halving over the zoo's classifiers.

Who could not be trained in the time that the winner has does not enter, and no more enter than there is time to look
at: one whose usual training takes about the winner's time, and with it the cheapest first. The time of a round is
shared by what a whole training of each costs, at most the winner's time: so all are seen at the same part of what they
would get, and what one leaves is for those after it. They are judged on the same validation images, by accuracy and
loss, and the better half goes on. In the last round a training that leaves time is repeated on other splits: its number
then rests on more images. The winner is trained by the default protocol in the time that is left. What has been done is
kept in race.json: the same command continues it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from replab import api, preflight
from replab.errors import DataError, ReplabError, RunError
from replab.files import write_atomic
from replab.models.registry import MODELS
from replab.race import entry, probe
from replab.race.entry import SHARE, State
from replab.race.field import costs_of, length_of, rounds_of
from replab.records.events import Events
from replab.records.record import Record, runs_folder
from replab.report import race as report
from replab.runs.run import Run
from replab.settings.recipe import Recipe, derive_seed
from replab.settings.words import duration

VALIDATION = 1000  # images, or a fifth of the training images
SPLITS = 5  # into training and validation images, at most
FEWEST = 12  # steps of a round that can tell anything


def best(
    data: str,
    budget: float,
    *,
    models: Sequence[str] = (),
    seed: int = 3407,
    runs: str | Path | None = None,
    events: Events | None = None,
    **settings: Any,
) -> tuple[Path, Run]:
    """(the folder of the race, the winner's run). `settings` are a recipe's, for all entrants."""
    Recipe(budget=budget)  # refuses what is no time
    names = list(models) or [*classifiers(), *probe.at_hand()]
    shared = {"protocol": "standard", "seed": seed, "runs": runs, **settings}
    recipes = {
        name: preflight.requested(model, data, **shared, **own)
        for name, (model, own) in ((name, probe.entrant(name)) for name in names)
    }
    events = events or Events()
    folder = runs_folder(runs) / "races" / f"{Path(data).name}-{round(budget)}s-seed{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    asked = {"rules": 5, "data": data, "budget": budget, "seed": seed, "models": names, "settings": settings}
    state = read(folder, json.loads(json.dumps(asked)))  # as the file has it: tuples are lists there
    if state["winner"] is None:
        run_rounds(state, recipes, lambda: write(folder, state), events)
    run = train(state, data, lambda: write(folder, state), events, runs=runs, seed=seed, **settings)
    report.write(folder, state, run)
    return folder, run


def classifiers() -> list[str]:
    return [name for name in MODELS.names() if getattr(MODELS.get(name), "task", "") == "classify"]


def read(folder: Path, asked: dict[str, Any]) -> State:
    """What was done so far; another race is refused its folder."""
    file = folder / "race.json"
    if not file.is_file():
        return {**asked, "entrants": {}, "rounds": [], "winner": None, "run": None, "spent": 0.0}
    state: State = json.loads(file.read_text(encoding="utf-8"))
    if any(state.get(key) != value for key, value in asked.items()):
        raise RunError(
            f"{folder} holds a race of other models or settings, or by older rules; remove it, or name another --runs"
            " folder"
        )
    return state


def write(folder: Path, state: State) -> None:
    write_atomic(folder / "race.json", (json.dumps(state, indent=1) + "\n").encode())


def run_rounds(state: State, recipes: dict[str, Recipe], keep: Callable[[], None], events: Events) -> None:
    """Entry, then round after round, until two or fewer are left; the best of them wins."""
    from replab.training.prepare import images_of

    images = images_of(next(iter(recipes.values())))
    if images.train.labels is None:
        raise DataError("a race needs labelled images; use CLASS/image.png folders")
    share = min(0.2, VALIDATION / len(images.train))

    def split(number: int) -> tuple[Any, Any]:
        """(training images, validation images)"""
        return images.train.split(share, derive_seed(state["seed"], 3, number))  # type: ignore[no-any-return]

    entry.enter_all(state, recipes, images, keep)
    number = 0
    while state["winner"] is None:
        if len(state["rounds"]) <= number:
            racing = [name for name, entrant in state["entrants"].items() if not entrant["out"]]
            if not racing:
                raise none_entered(state)
            racing.sort(key=lambda name: state["entrants"][name]["whole"])
            seconds = length_of(state, racing)
            state["rounds"].append({"models": racing, "seconds": seconds, "used": 0.0, "order": None})
        round_ = state["rounds"][number]
        costs, last_one = costs_of(state, round_["models"]), rounds_of(state, round_["models"]) == 1
        for place, name in enumerate(round_["models"]):
            entrant, began = state["entrants"][name], perf_counter()
            if entrant["out"] or len(entrant["rounds"]) > number:
                continue  # done before it was interrupted
            left = max(round_["seconds"] - round_["used"], 0.1 * round_["seconds"])
            seconds = left * costs[place] / sum(costs[place:])
            splits = SPLITS if last_one else 1
            least = FEWEST * entrant["step"] + entrant["image"] * len(split(0)[1])
            try:
                if seconds < least:
                    raise RunError(f"too slow: a round would take it {duration(least)}")
                run_round = probe.compete if recipes[name].freeze else compete
                entrant["rounds"].append(run_round(recipes[name], images, split, entrant, seconds, splits))
            except ReplabError as error:
                entrant |= {"out": str(error), "needs": max(entrant["needs"], 2 * least / seconds * state["budget"])}
            took = perf_counter() - began
            round_["used"], state["spent"] = round_["used"] + took, state["spent"] + took
            keep()
        if round_["order"] is None:
            end_round(state, number, events)
            keep()
        number += 1


def end_round(state: State, number: int, events: Events) -> None:
    """The better half goes on; after the last round, the best has won."""
    entrants, round_ = state["entrants"], state["rounds"][number]
    there = [name for name in round_["models"] if len(entrants[name]["rounds"]) > number]
    order = ranked({name: entrants[name]["rounds"][-1] for name in there})
    if not order:
        raise none_entered(state)
    events.message(f"round {number + 1}: " + ", ".join(f"{name} {last(state, name):.1%}" for name in order))
    going_on = max(1, len(order) // 2) if rounds_of(state, order) > 1 else 1
    for name in order[going_on:]:
        entrants[name]["out"] = f"dropped after round {number + 1}"
    round_["order"] = order
    if going_on == 1:
        state["winner"] = order[0]


def none_entered(state: State) -> RunError:
    reasons = "; ".join(sorted({entrant["out"] for entrant in state["entrants"].values()}))[:300]
    return RunError(f"no model could enter the race ({reasons}); give more time with --budget")


def ranked(results: dict[str, dict[str, Any]]) -> list[str]:
    """The best first, by the sum of the places by accuracy and by loss: few images tell more by both than by one."""
    places = dict.fromkeys(results, 0)
    for key, sign in (("accuracy", -1), ("loss", 1)):
        for name in results:
            better = [other for other in results if sign * results[other][key] < sign * results[name][key]]
            places[name] += len(better)
    return sorted(results, key=lambda name: (places[name], -results[name]["accuracy"]))


def last(state: State, name: str) -> float:
    return float(state["entrants"][name]["rounds"][-1]["accuracy"])


def compete(
    recipe: Recipe,
    images: Any,
    split: Callable[[int], tuple[Any, Any]],
    entrant: dict[str, Any],
    seconds: float,
    splits: int,
) -> dict[str, Any]:
    """One round: a one-cycle schedule of as many steps as the seconds pay for, on as many images as these need.

    A whole training may leave time for others like it, on as many splits.
    """
    from replab.training.lr_find import lr_find, one_cycle_peak, test_steps
    from replab.training.prepare import prepare

    part, validation = split(0)
    steps = int((seconds - entrant["image"] * len(validation)) / entrant["step"])
    experiment, began = prepare(recipe, None, images), perf_counter()
    if "lr" not in entrant:
        trying = test_steps(steps)
        entrant["lr"] = one_cycle_peak(lr_find(experiment, 1e-5, 1.0, trying)) or 1e-3
        steps -= trying
    each, most = max(1, len(part) // recipe.batch_size), experiment.recipe.epochs or 1
    epochs = min(max(1, steps // each), most)  # no more than a whole run has
    trained = experiment.recipe.replace(lr=entrant["lr"], epochs=epochs, epochs_at_10k=None)
    results, took = [], 0.0
    for number in range(splits if epochs == most else 1):
        if number and perf_counter() - began + took > seconds:
            break
        part, validation = split(number)
        some = part if steps >= each else part.take(max(recipe.batch_size, steps * recipe.batch_size), recipe.seed)
        model, started = experiment.model(trained), perf_counter()
        for _ in experiment.fit(model, trained, train=some):
            pass
        results.append(experiment.evaluate(model, validation, trained, trained_on=some).metrics)
        took = perf_counter() - started
    means = {key: sum(one[key] for one in results) / len(results) for key in ("accuracy", "loss")}
    return {"epochs": epochs, "images": len(some), "splits": len(results), **means, "seconds": round(took, 2)}


def train(
    state: State, data: str, keep: Callable[[], None], events: Events, *, runs: str | Path | None, **settings: Any
) -> Run:
    """The winner by the default protocol in the time that is left; resumed where it was interrupted."""
    there = runs_folder(runs) / state["run"] if state["run"] else None
    if there is not None and there.is_dir():
        run = Run(Record(there))
        return run if run.finished else api.resume(there, runs=runs, events=events)
    left = max(state["budget"] - state["spent"], state["budget"] * (1 - SHARE) / 2)
    events.message(f"{state['winner']} has won and is trained in {duration(left)}")

    class Remember:
        def hear(self, event: Any) -> None:
            if event.kind == "run":
                state["run"] = Path(event.facts["folder"]).name
                keep()

    heard = Remember()
    events.add(heard)
    model, own = probe.entrant(state["winner"])
    settings |= own or {"budget": left}  # a probe takes what it takes: it entered because that fits
    try:
        return api.run(model, data, protocol="standard", runs=runs, events=events, **settings)
    finally:
        events.remove(heard)
