"""race.md and race.png of `replab best`: who was dropped when, accuracy against time, and what more time would try."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from replab.files import write_atomic
from replab.records.text import table
from replab.runs.run import Run
from replab.settings.words import count, duration

State = dict[str, Any]  # race.json


def write(folder: Path, state: State, run: Run) -> None:
    """race.md and race.png: who was dropped when, accuracy against time, and what more time would try."""
    from replab.figures.race import draw_race
    from replab.figures.style import save

    entrants = state["entrants"]
    order = sorted(entrants, key=lambda name: (-len(entrants[name]["rounds"]), -best_of(entrants[name])))
    rows = []
    for name in order:
        each = [f"{round_['accuracy']:.1%}" + splits(round_) for round_ in entrants[name]["rounds"]]
        each += [""] * (len(state["rounds"]) - len(each))
        rows.append((name, *each, "won" if name == state["winner"] else entrants[name]["out"]))
    heads = [f"round {i + 1}, {duration(r['seconds'])}" for i, r in enumerate(state["rounds"])]
    accuracy = run.metrics["accuracy"]
    parts = [
        f"# The best model for {Path(state['data']).name} in {duration(state['budget'])}",
        f"**{state['winner']}**: {accuracy:.2%} of {run.input['test_images']:,} test images, which chose nothing; run"
        f" `{run.id}`. The race was judged on validation images, by accuracy and loss, and took"
        f" {duration(state['spent'])}.",
        table(("model", *heads, "end"), rows),
        "![race](race.png)",
        "## What a larger budget would try next",
        "\n".join(f"- {line}" for line in next_tries(state, run.recipe.freeze)),
    ]
    save(draw_race({name: entrants[name]["rounds"] for name in order if entrants[name]["rounds"]}), folder / "race.png")
    write_atomic(folder / "race.md", ("\n\n".join(parts) + "\n").encode())


def splits(round_: dict[str, Any]) -> str:
    return f" ({round_['splits']} splits)" if round_.get("splits", 1) > 1 else ""


def best_of(entrant: dict[str, Any]) -> float:
    return max((round_["accuracy"] for round_ in entrant["rounds"]), default=0.0)


def next_tries(state: State, frozen: bool) -> list[str]:
    """Models that had no time, what they would need, the runner-up, and more of the winner."""
    entrants, winner = state["entrants"], state["winner"]
    lines = [
        f"{name}: with {duration(entrant['needs'])} it could enter"
        for name, entrant in entrants.items()
        if entrant["out"].startswith(("too slow", "left out"))
    ]
    others = [name for name in entrants if name != winner and entrants[name]["rounds"]]
    if others:
        second = max(others, key=lambda name: (len(entrants[name]["rounds"]), best_of(entrants[name])))
        gap = best_of(entrants[winner]) - best_of(entrants[second])
        lines.append(f"{second}, which ended {gap:.1%} behind the winner, in longer rounds")
    if frozen:
        return [*lines, f"fine-tuning the backbone of {winner}: its head alone was fitted"]
    return [*lines, f"more epochs of {winner}: {count(entrants[winner]['rounds'][-1]['epochs'], 'epoch')} decided"]
