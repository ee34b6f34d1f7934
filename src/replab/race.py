"""Which model is best for these images within a time: successive halving over the zoo's classifiers.

Every entrant of a round trains for the same seconds, counted before from its measured cost per step, and is judged on
the same validation images; the better half goes on to a longer round. The winner is then trained by the default
protocol in the time that is left. What has been done is kept in race.json: the same command continues it.
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
from replab.records.events import Events
from replab.records.record import Record, runs_folder
from replab.records.text import table
from replab.runs.run import Run
from replab.settings.recipe import Recipe, derive_seed
from replab.settings.words import count, duration

SHARE = 0.3  # of the budget is for the race, the rest for the winner
VALIDATION = 1000  # images, or a fifth of the training images
FEWEST = 12  # steps of a round that can tell anything
State = dict[str, Any]


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
    names = list(models) or classifiers()
    recipes = {
        name: preflight.requested(name, data, protocol="standard", seed=seed, runs=runs, **settings) for name in names
    }
    events = events or Events()
    folder = runs_folder(runs) / "races" / f"{Path(data).name}-{round(budget)}s-seed{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    state = read(folder, {"data": data, "budget": budget, "seed": seed, "models": names})
    if state["winner"] is None:
        run_rounds(state, recipes, lambda: write(folder, state), events)
    run = train(state, data, lambda: write(folder, state), events, runs=runs, seed=seed, **settings)
    report(folder, state, run)
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
        raise RunError(f"{folder} holds a race of other models; remove it, or name another --runs folder")
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
    part, validation = images.train.split(share, derive_seed(state["seed"], 3))
    for name, recipe in recipes.items():
        if name not in state["entrants"]:
            state["entrants"][name] = enter(recipe, images)
            keep()
    number = 0
    while state["winner"] is None:
        if len(state["rounds"]) <= number:
            racing = [name for name, entrant in state["entrants"].items() if not entrant["out"]]
            seconds = SHARE * state["budget"] / rounds_of(len(state["entrants"])) / max(1, len(racing))
            state["rounds"].append({"models": racing, "seconds": seconds, "order": None})
        round_ = state["rounds"][number]
        for name in round_["models"]:
            entrant, began = state["entrants"][name], perf_counter()
            if entrant["out"] or len(entrant["rounds"]) > number:
                continue  # done before it was interrupted
            try:
                entrant["rounds"].append(compete(recipes[name], images, part, validation, entrant, round_["seconds"]))
            except ReplabError as error:
                entrant["out"] = str(error)
            state["spent"] += perf_counter() - began
            keep()
        if round_["order"] is None:
            end_round(state, number, events)
            keep()
        number += 1


def end_round(state: State, number: int, events: Events) -> None:
    """The better half goes on; of three or fewer, the best has won."""
    entrants, round_ = state["entrants"], state["rounds"][number]
    there = [name for name in round_["models"] if len(entrants[name]["rounds"]) > number]
    order = sorted(there, key=lambda name: -last(state, name))
    if not order:
        reasons = "; ".join(sorted({entrant["out"] for entrant in entrants.values()}))[:300]
        raise RunError(f"no model could enter the race ({reasons}); give more time with --budget")
    events.message(f"round {number + 1}: " + ", ".join(f"{name} {last(state, name):.1%}" for name in order))
    going_on = len(order) // 2 if len(order) > 3 else 1
    for name in order[going_on:]:
        entrants[name]["out"] = f"dropped after round {number + 1}"
    round_["order"] = order
    if going_on == 1:
        state["winner"] = order[0]


def rounds_of(entrants: int) -> int:
    """How many rounds halve so many down to three or fewer, and one more between those."""
    rounds = 1
    while entrants > 3:
        entrants, rounds = entrants // 2, rounds + 1
    return rounds


def last(state: State, name: str) -> float:
    return float(state["entrants"][name]["rounds"][-1]["accuracy"])


def enter(recipe: Recipe, images: Any) -> dict[str, Any]:
    """The model tried on a batch and its step timed; or why it is out."""
    from replab.training import cost
    from replab.training.prepare import prepare

    began = perf_counter()
    try:
        measured = cost.measure(prepare(recipe.replace(lr=1e-3), None, images))
    except ReplabError as error:
        return {"out": str(error), "rounds": []}
    times = {"step": measured.step_seconds, "image": measured.image_seconds}
    return {"out": "", "rounds": [], **times, "entry_seconds": perf_counter() - began}


def compete(
    recipe: Recipe, images: Any, part: Any, validation: Any, entrant: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """One round: a one-cycle schedule of as many steps as the seconds pay for, on as many images as these need."""
    from replab.training.lr_find import lr_find, one_cycle_peak, test_steps
    from replab.training.prepare import prepare

    steps = int((seconds - entrant["image"] * len(validation)) / entrant["step"])
    if steps < FEWEST:
        raise RunError(f"too slow: a step takes {duration(entrant['step'])}")
    experiment = prepare(recipe, None, images)
    if "lr" not in entrant:
        trying = test_steps(steps)
        entrant["lr"] = one_cycle_peak(lr_find(experiment, 1e-5, 1.0, trying)) or 1e-3
        steps -= trying
    each = max(1, len(part) // recipe.batch_size)
    epochs = min(max(1, steps // each), experiment.recipe.epochs or 1)  # no more than a whole run has
    some = part if steps >= each else part.take(max(recipe.batch_size, steps * recipe.batch_size), recipe.seed)
    trained = experiment.recipe.replace(lr=entrant["lr"], epochs=epochs, epochs_at_10k=None)
    model, began = experiment.model(trained), perf_counter()
    for _ in experiment.fit(model, trained, train=some):
        pass
    took = perf_counter() - began
    metrics = experiment.evaluate(model, validation, trained, trained_on=some).metrics
    return {"epochs": epochs, "images": len(some), "accuracy": metrics["accuracy"], "seconds": round(took, 2)}


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
    try:
        return api.run(state["winner"], data, protocol="standard", budget=left, runs=runs, events=events, **settings)
    finally:
        events.remove(heard)


def report(folder: Path, state: State, run: Run) -> None:
    """race.md and race.png: who was dropped when, accuracy against time, and what more time would try."""
    from replab.figures.race import draw_race
    from replab.figures.style import save

    entrants = state["entrants"]
    order = sorted(entrants, key=lambda name: (-len(entrants[name]["rounds"]), -best_of(entrants[name])))
    rows = []
    for name in order:
        each = [f"{round_['accuracy']:.1%}" for round_ in entrants[name]["rounds"]]
        each += [""] * (len(state["rounds"]) - len(each))
        rows.append((name, *each, "won" if name == state["winner"] else entrants[name]["out"]))
    heads = [f"round {i + 1}, {duration(r['seconds'])} each" for i, r in enumerate(state["rounds"])]
    accuracy = run.metrics["accuracy"]
    parts = [
        f"# The best model for {Path(state['data']).name} in {duration(state['budget'])}",
        f"**{state['winner']}**: {accuracy:.2%} of {run.input['test_images']:,} test images, which chose nothing; run"
        f" `{run.id}`. The race was judged on validation images and took {duration(state['spent'])}.",
        table(("model", *heads, "end"), rows),
        "![race](race.png)",
        "## What a larger budget would try next",
        "\n".join(f"- {line}" for line in next_tries(state)),
    ]
    save(draw_race({name: entrants[name]["rounds"] for name in order if entrants[name]["rounds"]}), folder / "race.png")
    write_atomic(folder / "race.md", ("\n\n".join(parts) + "\n").encode())


def best_of(entrant: dict[str, Any]) -> float:
    return max((round_["accuracy"] for round_ in entrant["rounds"]), default=0.0)


def next_tries(state: State) -> list[str]:
    """Models that had no time, what they would need, and the runner-up."""
    entrants, winner = state["entrants"], state["winner"]
    lines = []
    first = state["rounds"][0]["seconds"]
    for name, entrant in entrants.items():
        if entrant["out"].startswith("too slow"):
            factor = FEWEST * 2 * entrant["step"] / first
            needed = duration(state["budget"] * max(1.0, factor))
            lines.append(f"{name}: a step takes {duration(entrant['step'])}; it could enter with about {needed}")
    others = [name for name in entrants if name != winner and entrants[name]["rounds"]]
    if others:
        second = max(others, key=lambda name: (len(entrants[name]["rounds"]), best_of(entrants[name])))
        gap = best_of(entrants[winner]) - best_of(entrants[second])
        lines.append(f"{second}, which ended {gap:.1%} behind the winner, in longer rounds")
    return [*lines, f"more epochs of {winner}: {count(entrants[winner]['rounds'][-1]['epochs'], 'epoch')} decided"]
