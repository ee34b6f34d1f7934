"""Who races, and for how long: each is seen at the same part of the training that it would get as the winner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import Any

from replab.race.probe import SHARE

LAST = 2.0  # times the length of another round: the last one decides, and slow models need it
SEEN = 0.15  # of what it would get as the winner is the least of each that the first round shows
FLOOR = 0.1  # of the budget is never too much for a round: small models are then seen to their end, on several splits
State = dict[str, Any]  # race.json


def choose(state: State, time: Callable[[str], None]) -> None:
    """Enter whom the first round has time for; `time` measures one, and may find it too slow.

    First the one whose usual training takes about the winner's time: it can use all of it. Then the cheapest first,
    for a look at them costs little. Two race at least.
    """
    entrants = state["entrants"]
    waiting = [name for name, one in entrants.items() if not one["out"]]
    field: list[str] = []

    def away(name: str) -> float:
        return abs(log(max(entrants[name]["whole"], 1e-9) / winners_time(state)))

    while waiting:
        name = min(waiting, key=away) if not field else min(waiting, key=lambda name: entrants[name]["whole"])
        waiting.remove(name)
        if len(field) < 2 or fits(state, [*field, name]):
            time(name)
            if not entrants[name]["out"]:
                field.append(name)
        else:
            out = "left out: the race had no time for it beside the others"
            entrants[name] |= {"out": out, "needs": 2 * state["budget"]}


def winners_time(state: State) -> float:
    return float((1 - SHARE) * state["budget"])


def costs_of(state: State, names: Sequence[str]) -> list[float]:
    """Seconds that each would be trained for as the winner."""
    return [min(state["entrants"][name]["whole"], winners_time(state)) + 1e-9 for name in names]


def fits(state: State, names: Sequence[str]) -> bool:
    return length_of(state, names) >= SEEN * sum(costs_of(state, names))


def length_of(state: State, names: Sequence[str]) -> float:
    """Seconds of the next round: every round shows twice the part of the one before, if the race's time allows it."""
    rounds = rounds_of(state, names)
    left = max(SHARE * state["budget"] - state["spent"], FLOOR * state["budget"])
    most = left * (LAST if rounds == 1 else 1.0) / (rounds - 1 + LAST)
    wanted = SEEN * 2 ** len(state["rounds"]) * sum(costs_of(state, names))
    return float(min(most, max(wanted, FLOOR * state["budget"])))


def rounds_of(state: State, names: Sequence[str]) -> int:
    """How many rounds halve so many down to three or fewer, and one more between those; small ones hardly count."""
    costs = costs_of(state, names)
    entrants, rounds = int(sum(costs) / max(costs) + 0.5), 1
    while entrants > 3:
        entrants, rounds = entrants // 2, rounds + 1
    return rounds
